import { Writable } from "node:stream";
import type { CommandIo } from "../../src/cli/command.ts";

export interface CapturedIo extends CommandIo {
  printed(): string;
  warned(): string;
}

/** The streams of a process, for commands that run within a test. */
export function capturedIo(columns?: number): CapturedIo {
  const [out, err] = [collector(columns), collector(columns)];
  return {
    ...{ stdout: out.stream, stderr: err.stream, signal: new AbortController().signal },
    ...{ printed: out.text, warned: err.text },
  };
}

function collector(columns: number | undefined) {
  let text = "";
  const stream = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  // The only property of a terminal that printing code uses.
  return { stream: Object.assign(stream, { columns }) as unknown as NodeJS.WriteStream, text: () => text };
}
