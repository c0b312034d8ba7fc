#!/bin/sh
# Makes every file of this folder anew.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
names="subjectAltName=DNS:localhost,IP:127.0.0.1,IP:0:0:0:0:0:0:0:1"

touch index.txt
cat > ca.cnf <<END
[ca]
default_ca = test
[test]
database = index.txt
new_certs_dir = .
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
[any]
commonName = supplied
END

# certificate NAME SUBJECT EXTENSIONS END-DATE SIGNER...
certificate() {
    name=$1 subject=$2 extensions=$3 end=$4
    shift 4
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$name.key"
    openssl req -new -key "$name.key" -subj "$subject" -out "$name.csr"
    printf '%b\n' "$extensions" > "$name.ext"
    openssl ca -batch -config ca.cnf -notext -in "$name.csr" -out "$name.crt" \
        -startdate 20200101000000Z -enddate "$end" -extfile "$name.ext" "$@"
    cat "$name.crt" "$name.key" > "$name.pem"
}

leaf="basicConstraints=critical,CA:FALSE\nauthorityKeyIdentifier=keyid"
signer="-cert ca.crt -keyfile ca.key"
certificate ca "/CN=canferry test authority" \
    "basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\nkeyUsage=critical,keyCertSign,cRLSign" \
    21200101000000Z -selfsign -keyfile ca.key
certificate server "/CN=localhost" "$leaf\n$names" 21200101000000Z $signer
certificate client "/CN=test client" "$leaf" 21200101000000Z $signer
certificate expired "/CN=localhost" "$leaf\n$names" 20200102000000Z $signer

cp ca.crt "$here/authority.pem"
cp server.pem client.pem expired.pem "$here"
openssl pkey -in client.key -aes256 -passout pass:secret -out "$here/locked.key"
