import { constants, readFileSync } from "node:fs";
import { access, type FileHandle, open, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { styleText } from "node:util";
import { givenColumns, wantsStackTraces } from "../config/process-env.ts";
import { AppError, errorLine } from "../core/errors.ts";
import { escapeInvisible } from "../core/text/escape-invisible.ts";
import { createStyle, PIPED_WIDTH, type Style } from "../report/terminal-style.ts";

/** Resolves when the text has left the process, so that ending it loses nothing. A closed pipe is no failure; a full disk is one. */
export function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      if (error && error.code !== "EPIPE" && error.code !== "ERR_STREAM_DESTROYED") reject(error);
      else resolve();
    });
  });
}

/** Keeps a closed pipe from ending the process with a stack trace; other errors reach the writer through `write`. */
export function ignoreClosedPipes(...streams: NodeJS.WriteStream[]): void {
  for (const stream of streams) stream.on("error", () => {});
}

/** Whether to use colors: on a terminal that supports them, and according to NO_COLOR and FORCE_COLOR, as Node defines it. */
export function wantsColor(stream: NodeJS.WriteStream): boolean {
  return styleText("red", "x", { stream }) !== "x";
}

/** Maximum widths of text and code: the terminal's, else that of COLUMNS. Code is only cut on a terminal. */
export function widthsOf({ columns }: NodeJS.WriteStream): { width: number; codeWidth: number | undefined } {
  return { width: columns || pipedWidth(), codeWidth: columns || undefined };
}

/** The width of text in a pipe or a file. */
export const pipedWidth = (): number => givenColumns() ?? PIPED_WIDTH;

/** How text on a stream looks. */
export function styleOf(stream: NodeJS.WriteStream): Style {
  const { width, codeWidth } = widthsOf(stream);
  return createStyle(wantsColor(stream), width, codeWidth);
}

/** Rejects with `usage` if `path` cannot be written, before the work for it begins. */
export async function requireWritable(path: string): Promise<void> {
  try {
    const existing = await stat(path).catch(() => null);
    if (existing?.isDirectory()) throw new Error(`${path} is a folder`);
    await access(existing ? path : dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(error);
  }
}

export async function writeOutput(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error: unknown) => {
    throw unwritable(error);
  });
}

/** The same for code: readable only by this user, also if the file existed before. */
export async function writePrivate(path: string, text: string): Promise<void> {
  await using file = await openPrivate(path);
  await file.writeFile(text).catch((error: unknown) => {
    throw unwritable(error);
  });
}

/** @throws AppError `usage` if the file cannot be written */
export async function openPrivate(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, "w", 0o600);
    // A file that already existed keeps its mode.
    await file.chmod(0o600);
    return file;
  } catch (error) {
    throw unwritable(error);
  }
}

function unwritable(error: unknown): AppError {
  return new AppError("usage", `the output cannot be written: ${errorLine(error)}`, {
    remedy: "Name a file in an existing folder that you can write to.",
    cause: error,
  });
}

/** The version in package.json, which lies two folders up in development and when built. */
export function programVersion(): string {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return String(JSON.parse(text).version);
}

/** The line that is printed when a command fails. A message may quote a server or a repository, hence the escaping. */
export function complaintLine(error: unknown): string {
  const text = escapeInvisible(wholeLine(error).replaceAll(/\s*\n\s*/g, " "));
  return `hunkwise: ${text}${/[.?!]$/.test(text) ? "" : "."}\n`;
}

/** The same, with a stack trace if LOG_LEVEL is debug or trace. */
export function complaint(error: unknown): string {
  const stack = wantsStackTraces() && error instanceof Error ? `${error.stack}\n` : "";
  return complaintLine(error) + stack;
}

/** With the last output of a process that died: only its operator reads this. */
function wholeLine(error: unknown): string {
  const line = errorLine(error);
  if (!(error instanceof AppError) || error.code !== "child_died") return line;
  return error.cause instanceof Error ? `${line}: ${error.cause.message}` : line;
}

/** At most `mostBytes` from the beginning of a file, which may also be a pipe or a device without an end. */
export async function beginningOf(file: FileHandle, mostBytes: number): Promise<Buffer> {
  return await buffer(file.createReadStream({ end: mostBytes - 1, autoClose: false }));
}
