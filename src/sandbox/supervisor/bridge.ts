/**
 * Runs a command of the inner sandbox that may reach registries: listens on the sandbox's own loopback, and passes each connection on to the
 * socket of the server's registry proxy, which decides. Arguments: the socket, the port, the command and its arguments.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { constants } from "node:os";

const [, , socket = "", port = "", program = "", ...args] = process.argv;

const bridge = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ path: socket, allowHalfOpen: true });
  near.pipe(far).pipe(near);
  // Either end: the other one must not wait for it.
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
});
bridge.listen(Number(port), "127.0.0.1");
await once(bridge, "listening");

const child = spawn(program, args, { stdio: "inherit" });
child.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
// As a shell does.
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal as NodeJS.Signals]));
