import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TempFolder } from "../support/git-repo.ts";
import { attack, perl, sandboxFor } from "./sandbox.ts";

const { sandbox, skipped } = await sandboxFor(
  "that a command reaches no network and no socket of the machine",
);

describe.skipIf(!sandbox)(`the network of a command${skipped}`, () => {
  const folder = new TempFolder("sandbox-network");
  const heard: string[] = [];
  const listening: Server[] = [];
  const listen = async (where: number | string) => {
    const server = createServer((socket) => {
      heard.push(`a connection to ${where}`);
      socket.destroy();
    });
    if (typeof where === "number") server.listen(where, "127.0.0.1");
    else server.listen(where);
    await once(server, "listening");
    listening.push(server);
    return server;
  };
  const udp = createSocket("udp4", (message) => heard.push(`a message: ${message}`));
  let port = 0;
  beforeAll(async () => {
    port = ((await listen(0)).address() as AddressInfo).port;
    udp.bind(port, "127.0.0.1");
    await once(udp, "listening");
  });
  afterAll(async () => {
    for (const server of listening) server.close();
    udp.close();
    folder.dispose();
  });

  it("A command in the sandbox reaches nobody over TCP", async () => {
    const connect = perl(
      `use IO::Socket::INET; print IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => ${port}) ? "in" : "refused"`,
    );
    expect((await attack(sandbox, connect)).text).toBe("refused");
    const outside = perl(
      `use IO::Socket::INET; print IO::Socket::INET->new(PeerAddr => "1.1.1.1:80", Timeout => 5) ? "in" : $!`,
    );
    expect((await attack(sandbox, outside)).text).toBe("Network is unreachable");
    expect(heard).toEqual([]);
  });

  it("A command in the sandbox reaches nobody over UDP", async () => {
    const send = perl(
      `use IO::Socket::INET; my $s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:${port}"); ` +
        `$s->send("stolen"); $s->send("again") for 1 .. 3; print "tried"`,
    );
    expect((await attack(sandbox, send)).text).toBe("tried");
    // A message of our own comes behind any of theirs.
    const ours = createSocket("udp4");
    ours.send("ours", port, "127.0.0.1");
    await expect.poll(() => heard).toEqual(["a message: ours"]);
    ours.close();
    heard.length = 0;
  });

  it("A command in the sandbox reaches nobody by a name", async () => {
    const { exitCode } = await attack(sandbox, "getent hosts localhost && getent hosts example.com");
    expect(exitCode).toBe(2);
  });

  it("A command in the sandbox reaches nobody over a socket in a folder", async () => {
    const path = join(folder.path, "socket");
    const name = `hunkwise-${process.pid}`;
    await listen(path);
    await listen(`\0${name}`);
    const connect = (address: string) =>
      perl(
        `use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); print connect($s, pack("S a*", AF_UNIX, "${address}")) ? "in " : "refused "`,
      );
    const { text } = await attack(sandbox, `${connect(path)}; ${connect(`\\0${name}`)}`);
    expect(text).toBe("refused refused ");
    expect(heard).toEqual([]);
  });

  it("A command reaches nobody over the socket of a virtual machine to its host", async () => {
    // AF_VSOCK has no namespaces: even from a sandbox it leads to the host.
    const { text } = await attack(sandbox, perl(`print socket(my $s, 40, 1, 0) ? "open" : $!`));
    expect(text).toBe("Address family not supported by protocol");
  });

  it("A command in the sandbox reaches nobody over a device", async () => {
    const { text } = await attack(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1");
    expect(text.trim()).toBe("lo");
  });
});
