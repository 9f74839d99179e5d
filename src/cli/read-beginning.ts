import type { FileHandle } from "node:fs/promises";

/** At most `mostBytes` from the beginning of a file, which may also be a pipe or a device without an end. */
export async function beginningOf(file: FileHandle, mostBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let size = 0; size < mostBytes; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(65_536, mostBytes - size)));
    if (bytesRead === 0) break;
    parts.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
  return Buffer.concat(parts);
}
