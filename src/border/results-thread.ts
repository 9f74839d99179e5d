/** Entry point of the thread that reads an artifact: gets it as data of the thread, and answers with its results. */

import { parentPort, workerData } from "node:worker_threads";
import { fromBufferPromise, type ZipFile } from "yauzl";
import { AppError } from "../core/errors.ts";
import { withoutSecrets } from "../core/secrets/redact.ts";
import { MOST_BYTES, parseResults } from "../tasks/rules/tool-results/parse-results.ts";
import { fairShare, type ToolResult } from "../tasks/shapes/tool-result.ts";
import type { ResultsAnswer, ResultsTask } from "./read-artifact.ts";

/** Files with results in one artifact. */
const MOST_FILES = 5;
/** Entries that are looked at, of whatever kind. */
const MOST_ENTRIES = 1_000;

/** The file itself, or the files in a zip. Names in a zip only say what a file is. Nothing is written to the disk. */
async function filesOf(bytes: Buffer): Promise<Buffer[]> {
  if (!bytes.subarray(0, 4).equals(Buffer.from("PK\x03\x04")) && !bytes.subarray(0, 4).equals(emptyZip))
    return [bytes];
  // Refuses sizes that differ from what a header says.
  const zip = await fromBufferPromise(bytes, { lazyEntries: true, validateEntrySizes: true });
  const files: Buffer[] = [];
  let looked = 0;
  let left = MOST_BYTES;
  for await (const entry of zip.eachEntry()) {
    looked += 1;
    if (looked > MOST_ENTRIES) throw unusable(`it has more than ${MOST_ENTRIES} files`);
    if (!/\.(sarif|json|rdjson|rdjsonl|jsonl)$/i.test(entry.fileName)) continue;
    if (files.length === MOST_FILES) throw unusable(`it has more than ${MOST_FILES} files with results`);
    if (entry.isEncrypted()) throw unusable("it is encrypted");
    // Whatever a header says: an entry may also say too little.
    const file = await inflated(zip, entry, left);
    left -= file.length;
    files.push(file);
  }
  return files;
}

const emptyZip = Buffer.from("PK\x05\x06");

async function inflated(zip: ZipFile, entry: Parameters<ZipFile["openReadStreamPromise"]>[0], most: number) {
  const tooMuch = unusable(`its files have more than ${MOST_BYTES / 1e6} MB when unpacked`);
  if (entry.uncompressedSize > most) throw tooMuch;
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > most) throw tooMuch;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const unusable = (why: string) => new AppError("usage", why);

async function resultsOf({ bytes, name, file, roots, changed, most }: ResultsTask): Promise<ToolResult[]> {
  const files = await filesOf(Buffer.from(bytes.buffer));
  if (files.length === 0) throw unusable("it has no file that ends in .sarif, .json, .rdjson or .rdjsonl");
  const paths = new Set(changed);
  const all = files.flatMap((one) => parseResults(one, { name, file, roots, changed: paths }));
  // Of the worst, and here: to search thousands of messages takes a tenth of a second.
  return fairShare(all, most, (one) => one).map((one) => ({
    ...one,
    message: withoutSecrets(one.message),
  }));
}

const answer = await resultsOf(workerData as ResultsTask).then(
  (results): ResultsAnswer => ({ results }),
  (error: unknown): ResultsAnswer => ({
    // A library's message may repeat names of the artifact.
    refused: error instanceof AppError ? error.message : "it is damaged, or no zip that can be read",
  }),
);
parentPort?.postMessage(answer);
