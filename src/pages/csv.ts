import { type Cell, csvLine } from "../reporters/csv.ts";

/** Rows that a file has at most. */
export const MOST_CSV_ROWS = 10_000;

/** An answer that is written as its lines come, so that a large file needs no memory. */
export function csvAnswer(
  name: string,
  head: readonly string[],
  lines: AsyncIterable<readonly Cell[]>,
): Response {
  const source = lines[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(encoder.encode(csvLine(head))),
    async pull(stream) {
      const next = await source.next();
      if (next.done) stream.close();
      else stream.enqueue(encoder.encode(csvLine(next.value)));
    },
    cancel: async () => void (await source.return?.()),
  });
  return new Response(body, {
    headers: {
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": `attachment; filename="${name}"`,
    },
  });
}
