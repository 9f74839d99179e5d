/**
 * Writes and waits until the text has left the process, so that ending it loses nothing. A reader that went away
 * (`hunkwise review | head`) is no failure; a full disk is.
 */
export function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error && !isGone(error)) reject(error);
      else resolve();
    });
  });
}

function isGone(error: Error & { code?: string }): boolean {
  return error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED";
}

/** Keeps a closed pipe from ending the process with a stack trace; other errors reach the writer through `write`. */
export function ignoreClosedPipes(...streams: NodeJS.WriteStream[]): void {
  for (const stream of streams) stream.on("error", () => {});
}
