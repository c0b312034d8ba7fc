// Loaded before a server of Node: has it listen on loopback only, and say where, on stdout.

import { Server } from "node:net";

const listen = Server.prototype.listen;

Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => {
    console.log(`listening on http://127.0.0.1:${this.address().port}`);
  });
  return listen.call(this, port, "127.0.0.1", ...rest);
};
