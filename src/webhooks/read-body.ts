import type { IncomingMessage } from "node:http";
import { Refusal } from "./http.ts";

/** GitHub caps payloads at 25 MB and sends no bigger ones. */
const largestBody = 25 * 1024 * 1024;
/** Bodies are held before their signature can be checked, so strangers could fill the memory with many of them. */
const mostHeld = 4 * largestBody;
/**
 * The beginning of each body, which counts for none of it: most webhooks are no larger, and come through while strangers hold the
 * rest. There are as many at a time as connections (`http.ts`).
 */
const freeBytes = 128 * 1024;

/** Reads bodies within a limit for each and one for all that are under way. */
export function createBodyReader(): (request: IncomingMessage) => Promise<Buffer> {
  let held = 0;
  return async (request) => {
    if (Number(request.headers["content-length"] ?? 0) > largestBody) throw tooLarge();
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const chunks: Buffer[] = [];
    let size = 0;
    let counted = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      const more = Math.max(0, size - freeBytes) - counted;
      counted += more;
      held += more;
      if (size > largestBody) return reject(tooLarge());
      if (more > 0 && held > mostHeld)
        return reject(new Refusal(503, "Too much at a time.", { "retry-after": "10" }));
      chunks.push(chunk);
    };
    request.on("data", onData);
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", () => reject(new Refusal(400, "The body was cut off.")));
    try {
      return await promise;
    } finally {
      held -= counted;
      request.off("data", onData);
      // What is left of a refused body is read and thrown away, so that the client gets to see the answer.
      request.resume();
    }
  };
}

const tooLarge = () => new Refusal(413, "The body is larger than 25 MB.");
