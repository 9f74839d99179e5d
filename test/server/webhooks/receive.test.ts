import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createBodyReader } from "../../../src/server/webhooks/receive.ts";

const megabyte = 1024 * 1024;

/** A request whose body has so many bytes by now, and no end. */
function begun(bytes: number): PassThrough & IncomingMessage {
  const request = Object.assign(new PassThrough(), { headers: {} }) as unknown as PassThrough &
    IncomingMessage;
  request.write(Buffer.alloc(bytes));
  return request;
}
/** A body is too long to be shown where it is not what was expected. */
const lengthOf = async (body: Promise<Buffer>) => (await body).length;
const untilRead = () => new Promise((resolve) => setImmediate(resolve));

it("Bodies that are under way hold a hundred megabytes at most, beside the beginning of each, which is let through", async () => {
  const read = createBodyReader();
  const held = Array.from({ length: 4 }, () => begun(25 * megabyte));
  const reading = held.map((request) => read(request));
  await untilRead();
  await expect(lengthOf(read(begun(2 * megabyte)))).rejects.toMatchObject({ answer: { status: 503 } });

  const small = begun(100 * 1024);
  const smallRead = read(small);
  small.end();
  expect(await lengthOf(smallRead)).toBe(100 * 1024);
  for (const request of held) request.end();
  expect((await Promise.all(reading)).map(({ length }) => length)).toEqual(Array(4).fill(25 * megabyte));
});

it("Bodies that are under way let go of what they hold, however they end", async () => {
  const read = createBodyReader();
  const cut = Array.from({ length: 4 }, () => begun(25 * megabyte));
  const cutOff = cut.map((request) => read(request));
  await untilRead();
  for (const request of cut) request.destroy(new Error("the connection was closed"));
  const ends = await Promise.allSettled(cutOff);
  expect(ends.map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
  const large = begun(26 * megabyte);
  large.end();
  await expect(lengthOf(read(large))).rejects.toMatchObject({ answer: { status: 413 } });

  const next = begun(24 * megabyte);
  const nextRead = read(next);
  next.end();
  expect(await lengthOf(nextRead)).toBe(24 * megabyte);
});

it("Bodies that come in pieces of a byte are refused", async () => {
  const read = createBodyReader();
  const request = begun(0);
  const reading = read(request);
  const refused = expect(lengthOf(reading)).rejects.toMatchObject({ answer: { status: 400 } });
  for (let n = 0; n < 1_000; n++) request.push("a");
  await refused;
  expect(request.destroyed).toBe(true);

  const packets = begun(0);
  const taken = read(packets);
  for (let n = 0; n < 10_000; n++) packets.push(Buffer.alloc(1_300));
  packets.end();
  expect(await lengthOf(taken)).toBe(13_000_000);
});
