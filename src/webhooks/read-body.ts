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
/**
 * How many pieces a body may come in: so many, and one for so many bytes. A piece of a byte takes two hundred bytes of memory, and what
 * means it sends pieces as large as packets.
 */
const most = { pieces: 200, bytesAPiece: 512 };

/** Reads bodies within a limit for each and one for all that are under way. */
export function createBodyReader(): (request: IncomingMessage) => Promise<Buffer> {
  let held = 0;
  return async (request) => {
    if (Number(request.headers["content-length"] ?? 0) > largestBody) throw tooLarge();
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const chunks: Buffer[] = [];
    let size = 0;
    let [counted, pieces] = [0, 0];
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      pieces += 1;
      const more = Math.max(0, size - freeBytes) - counted;
      counted += more;
      held += more;
      if (size > largestBody) return reject(tooLarge());
      if (more > 0 && held > mostHeld)
        return reject(new Refusal(503, "Too much at a time.", { "retry-after": "10" }));
      if (pieces > most.pieces + size / most.bytesAPiece) {
        // Nobody reads the rest to throw it away: each piece of it takes as much time.
        request.destroy();
        return reject(new Refusal(400, "The body comes in too many pieces."));
      }
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
