import { afterEach, expect, it } from "vitest";
import { type Handler, listen, type RunningServer } from "../../../src/server/webhooks/http.ts";
import { RawSocket } from "../../attacks/raw-socket.ts";
import { logBook } from "./support.ts";

let server: RunningServer | undefined;
afterEach(() => server?.close());

async function serve(handler: Handler, mostConnections?: number): Promise<number> {
  const options = { host: "127.0.0.1", port: 0, log: logBook().log, closeGraceMs: 0 };
  server = await listen(handler, { ...options, ...(mostConnections && { mostConnections }) });
  return server.port;
}

const ask = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

it("A connection whose answer nobody reads holds no place that another one needs", async () => {
  const large = "x".repeat(16_000_000);
  const port = await serve(
    async (_, { pathname }) => ({ status: 200, body: pathname === "/" ? large : "ok" }),
    4,
  );
  const unread: RawSocket[] = [];
  for (let n = 0; n < 4; n++) {
    const raw = await RawSocket.open(port);
    await raw.send(ask("/"));
    await raw.answered();
    raw.socket.pause();
    unread.push(raw);
  }
  const another = await RawSocket.open(port);
  await another.send(ask("/small"));
  expect(await another.answered()).toEqual([200]);
  for (const raw of [another, ...unread]) raw.end();
});

it("A connection is not ended for another one while its request is handled", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let asked = 0;
  const port = await serve(async () => {
    asked += 1;
    if (asked === 2) begin();
    await released;
    return { status: 200, body: "ok" };
  }, 2);
  const handled = [await RawSocket.open(port), await RawSocket.open(port)];
  for (const raw of handled) await raw.send(ask("/"));
  await begun;
  const refused = await RawSocket.open(port);
  await refused.closed();
  release();
  for (const raw of handled) {
    expect(await raw.answered()).toEqual([200]);
    raw.end();
  }
});

it("A connection with thousands of requests sent ahead is ended, and few of them are handled", async () => {
  let handled = 0;
  const port = await serve(async () => {
    handled += 1;
    return { status: 200, body: "ok" };
  });
  const raw = await RawSocket.open(port);
  await raw.send(ask("/").repeat(2_000));
  await raw.closed();
  expect(handled).toBeLessThan(20);
});
