"""The audit file: appended, never rewritten, one record a line whatever happened before."""

from __future__ import annotations

import json
import logging
import os
import resource
import stat
from contextlib import closing
from pathlib import Path

import pytest

from service.errors import AuditFileError, AuditWriteError
from service.safety.audit import Audit, AuditEntry

ENTRY = AuditEntry("permitted", "can0", "ada", 'client "ä\n"', "send", ("123#11",))


def test_records_are_appended_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    ids = []
    for _ in range(2):
        with closing(Audit(path)) as audit:
            ids += [audit.record(ENTRY), audit.record(ENTRY)]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["audit_id"] for line in lines] == ids
    assert len(set(ids)) == 4
    assert json.loads(lines[0])["client"] == ENTRY.client


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    Audit(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_torn_record_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"audit_id": "tor', encoding="utf-8")
    with closing(Audit(path)) as audit:
        audit_id = audit.record(ENTRY)
    torn, whole = path.read_text(encoding="utf-8").splitlines()
    assert torn == '{"audit_id": "tor'
    assert json.loads(whole)["audit_id"] == audit_id


def test_an_audit_file_that_cannot_be_opened_is_the_operators_error(tmp_path: Path) -> None:
    with pytest.raises(AuditFileError, match=str(tmp_path)):
        Audit(tmp_path)


def test_a_record_that_does_not_reach_the_disk_is_an_error() -> None:
    with closing(Audit(Path("/dev/full"))) as audit, pytest.raises(AuditWriteError, match="space"):
        audit.record(ENTRY)


def test_what_cannot_be_made_durable_is_no_audit() -> None:
    with closing(Audit(Path(os.devnull))) as audit, pytest.raises(AuditWriteError):
        audit.record(ENTRY)


def test_a_disk_that_fills_up_tears_one_record_and_not_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(Audit(path)) as audit:
        audit.record(ENTRY)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
        try:
            with pytest.raises(AuditWriteError):
                audit.record(ENTRY)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        audit_id = audit.record(ENTRY)
    _, torn, whole = path.read_text(encoding="utf-8").splitlines()
    assert len(torn) == 20
    assert json.loads(whole)["audit_id"] == audit_id


def test_without_a_file_records_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    audit = Audit()
    with caplog.at_level(logging.INFO, logger="service.audit"):
        audit_id = audit.record(ENTRY)
    audit.close()
    audit.close()
    assert audit_id in caplog.text
