import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startTestServer } from "../server/webhooks/support.ts";
import {
  type AttackedServer,
  delivery,
  headersOf,
  headOf,
  startAttackedServer,
  webhooks,
} from "./attacked-server.ts";
import { firstStatus, RawSocket } from "./raw-socket.ts";

const megabyte = 1024 * 1024;

let attacked: AttackedServer;
let port: number;
beforeAll(async () => {
  attacked = await startAttackedServer();
  ({ port } = attacked);
});
afterAll(async () => expect(await attacked.stop()).toBe(0));

const stillServes = async () => expect(await firstStatus(port, delivery())).toBe(202);

/** Starts a delivery and sends `bytes` bytes of its body, in chunks. */
async function halfSent(bytes: number): Promise<RawSocket> {
  const raw = await RawSocket.open(port);
  await raw.send(headOf(webhooks, { ...headersOf(""), "transfer-encoding": "chunked" }));
  for (let left = bytes; left > 0 && !raw.socket.closed; left -= megabyte) {
    const size = Math.min(left, megabyte);
    await raw.send(
      Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), Buffer.alloc(size, " "), Buffer.from("\r\n")]),
    );
  }
  return raw;
}

describe("a body", () => {
  it("oversized-payload: A body that is announced as too large is refused before any of it is sent", async () => {
    for (const length of [25 * megabyte + 1, 2 ** 40, Number.MAX_SAFE_INTEGER])
      expect(await firstStatus(port, headOf(webhooks, { ...headersOf(""), "content-length": length }))).toBe(
        413,
      );
  });

  it("oversized-payload: A body that grows too large is refused at that moment, even without an announced size", async () => {
    const raw = await halfSent(26 * megabyte);
    expect(await raw.answered()).toEqual([413]);
    raw.end();
  });

  it("oversized-payload: A body in chunks with huge chunk extensions is refused", async () => {
    const raw = await RawSocket.open(port);
    await raw.send(headOf(webhooks, { ...headersOf(""), "transfer-encoding": "chunked" }));
    await raw.send(`1;${"x".repeat(20_000)}\r\na\r\n`);
    expect(await raw.answered()).toEqual([413]);
    await raw.closed();
  });

  it("oversized-payload: A body that strangers keep open delays no small one, and is freed with its connection", async () => {
    const held = await Promise.all(Array.from({ length: 5 }, () => halfSent(24 * megabyte)));
    const answers = () => held.map((raw) => raw.statuses()).filter((statuses) => statuses.length > 0);
    await vi.waitFor(() => expect(answers()).toEqual([[503]]), 5_000);
    await stillServes();
    for (const raw of held) raw.end();
    const large = JSON.stringify({ zen: "x".repeat(24 * megabyte) });
    let status = 503;
    // The server notices closed connections with a delay.
    while (status === 503)
      status = await firstStatus(
        port,
        headOf(webhooks, { ...headersOf(large), "content-length": large.length }) + large,
      );
    expect(status).toBe(202);
    const peak = /VmHWM:\s+(\d+) kB/.exec(
      readFileSync(`/proc/${attacked.server.process.pid}/status`, "utf8"),
    )?.[1];
    expect(Number(peak) / 1024).toBeLessThan(600);
  });

  it.each(["gzip", "deflate", "br", "zstd", "identity, gzip", "GZIP", "x"])(
    "oversized-payload: A body compressed with %s is refused without being unpacked",
    async (encoding) => {
      const bomb = gzipSync(Buffer.alloc(megabyte));
      const headers = { ...headersOf(bomb), "content-encoding": encoding, "content-length": bomb.length };
      expect(await firstStatus(port, Buffer.concat([Buffer.from(headOf(webhooks, headers)), bomb]))).toBe(
        415,
      );
    },
  );

  it.each([
    ...["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", "text/json"],
    ...[
      "application/json5",
      "application/jsonx",
      "application/vnd.github+json",
      "*/*",
      "",
      ";application/json",
    ],
  ])("oversized-payload: A body of the type %j is refused", async (type) => {
    const headers = { ...headersOf("{}"), "content-type": type, "content-length": 2 };
    expect(await firstStatus(port, `${headOf(webhooks, headers)}{}`)).toBe(415);
  });

  it("oversized-payload: Headers or a body that arrive byte by byte end with their connection, and delay no others", async () => {
    const impatient = await startTestServer({ timeouts: { headersMs: 2_000, requestMs: 4_000 } });
    const slow: RawSocket[] = [];
    for (const start of [
      "POST /",
      `POST ${webhooks} HTTP/1.1\r\nhost: x\r\nx-a: `,
      headOf(webhooks, { ...headersOf("{}"), "content-length": 100 }),
      `${headOf(webhooks, { ...headersOf("{}"), "transfer-encoding": "chunked" })}1\r\n{\r\n`,
      // The server drains a refused body, but only for a limited time.
      headOf(webhooks, { ...headersOf("{}"), "content-length": 26 * megabyte }),
    ]) {
      const raw = await RawSocket.open(impatient.port);
      await raw.send(start);
      slow.push(raw);
    }
    const drip = setInterval(() => {
      for (const { socket } of slow) if (!socket.destroyed) socket.write("a");
    }, 20);
    try {
      expect(await firstStatus(impatient.port, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")).toBe(200);
      expect(slow.filter(({ socket }) => socket.closed)).toEqual([]);
      const answers = await Promise.all(slow.map((raw) => raw.closed()));
      expect(answers.every((answer) => /^HTTP\/1\.1 4\d\d /.test(answer))).toBe(true);
    } finally {
      clearInterval(drip);
      await impatient.close();
    }
  });
});

describe("the head of a request", () => {
  it("A head that is too long is refused, in one header, in many or in its address", async () => {
    const long = "a".repeat(17_000);
    const many = Array.from({ length: 2_000 }, (_, n) => `x-${n}: ${n}`).join("\r\n");
    for (const head of [
      `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${long}\r\n\r\n`,
      `GET / HTTP/1.1\r\nhost: x\r\n${many}\r\n\r\n`,
      `GET /${long} HTTP/1.1\r\nhost: x\r\n\r\n`,
    ])
      expect(await firstStatus(port, head)).toBe(431);
    await stillServes();
  });

  it.each([
    ["two lengths", "content-length: 2\r\ncontent-length: 3\r\n\r\n{}"],
    ["a length and chunks", "content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a negative length", "content-length: -1\r\n\r\n"],
    ["a length with a sign", "content-length: +2\r\n\r\n{}"],
    ["a length in hex", "content-length: 0x2\r\n\r\n{}"],
    ["chunks that are not the last coding", "transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n"],
    ["a gap before a colon", "content-length : 2\r\n\r\n{}"],
    ["a folded line", "x-a: 1\r\n b: 2\r\n\r\n"],
    ["a NUL", "x-a: a\0b\r\n\r\n"],
    ["a chunk without a size", "transfer-encoding: chunked\r\n\r\nxyz\r\n"],
  ])("A head with %s is refused, and its connection closed", async (_, rest) => {
    const raw = await RawSocket.open(port);
    await raw.send(`POST ${webhooks} HTTP/1.1\r\nhost: x\r\n${rest}GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`);
    await raw.closed();
    expect(raw.statuses()).toEqual([expect.toSatisfy((status: number) => status >= 400 && status < 500)]);
  });

  it.each([
    ["no host", "GET / HTTP/1.1\r\n\r\n"],
    ["another protocol", "GET / SPDY/3\r\n\r\n"],
    ["what is no request", "\x16\x03\x01\x02\0\x01\0"],
  ])("A head with %s is refused", async (_, head) => {
    expect(await firstStatus(port, head)).toBe(400);
  });

  it("A head with any host gets the same page, which does not contain the host", async () => {
    const pages = new Set<string>();
    for (const host of ["x", "evil.example", "127.0.0.1", "evil.example:99999", '"><script>', "a b"]) {
      const raw = await RawSocket.open(port);
      await raw.send(
        `GET / HTTP/1.1\r\nhost: ${host}\r\nx-forwarded-host: ${host}\r\nconnection: close\r\n\r\n`,
      );
      pages.add((await raw.closed()).replace(/^date: .*$/im, ""));
    }
    expect(pages.size).toBe(1);
    expect([...pages].join()).not.toMatch(/evil|script>/);
  });
});
