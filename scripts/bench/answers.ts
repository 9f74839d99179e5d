import { execFile } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import { type Bench, plainRow } from "./row.ts";

/** The report of `answers-process.ts`. */
export interface AnswersReport {
  /** The longest time in which nothing else could run. */
  milliseconds: number;
  /** Growth of the peak resident size. */
  megabytes: number;
  /** The result of the request. */
  end: string;
}

const MB = 1_000_000;
const message = (content: string) =>
  `{"choices":[{"message":{"role":"assistant","content":${JSON.stringify(content)}}}]}`;
const call = (text: string) =>
  `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":${JSON.stringify(text)}}}]}}]}`;
const keys = (count: number) => Array.from({ length: count }, (_, n) => `"key${n}":${n}`).join(",");
/** A vector for each of 96 texts, with numbers that are slow to parse. */
const vectors = (size: number) => {
  const vector = `[${Array<string>(size).fill("9007199254740993.0000000000000001").join(",")}]`;
  return `{"data":[${Array<string>(96).fill(`{"embedding":${vector}}`).join(",")}]}`;
};

/** The largest parsed text of each kind, and some that are too large. */
const texts: Record<string, () => string> = {
  "40 MB of brackets": () => "[".repeat(40 * MB),
  "lists, as many as are parsed": () => `{"choices":[],"x":[${"[],".repeat(9_990)}0]}`,
  "names, as many as are parsed": () => `{"choices":[],"x":{${keys(14_990)}}}`,
  "parts of a text, as many as are parsed": () =>
    `{"choices":[{"message":{"content":[${Array<string>(9_900).fill('{"text":"a"}').join(",")}]}}]}`,
  "calls, as many as are parsed": () =>
    `{"choices":[{"message":{"tool_calls":[${Array<string>(6_600).fill('{"function":{}}').join(",")}]}}]}`,
  "a text of 990,000 characters": () => message("a\n".repeat(330_000)),
  "lists in a text": () => message(`{"calls":[${"[],".repeat(300_000)}`),
  "beginnings of calls in a text": () => message(`${"{a:".repeat(60)}"${"x".repeat(900_000)}`),
  "white space between letters, and no choices": () => JSON.stringify({ x: " a".repeat(950_000) }),
  "one number": () => `{"choices":[${"9".repeat(1_900_000)}]}`,
  "escaped letters": () => `{"choices":[{"message":{"content":"${"\\u0041".repeat(320_000)}"}}]}`,
  "one name again and again": () => `{"choices":[],"x":{${Array<string>(14_900).fill('"a":1').join(",")}}}`,
  "lists in JSON in JSON in a call": () => call(JSON.stringify({ a: JSON.stringify("[".repeat(400_000)) })),
  "lists in a call": () => call("[],".repeat(320_000)),
  "a call that is cut": () => call(`{"a": '${"x".repeat(900_000)}`),
};
/** Errors with their status: every search in an error covers all of its text. */
const errorOf = (message: string) => JSON.stringify({ error: { message, code: "x", param: "y" } });
const errors: Record<string, [number, () => string]> = {
  "white space between letters": [400, () => errorOf(" a".repeat(950_000))],
  "what could be a parameter": [400, () => errorOf("unknown param ".repeat(140_000))],
  "what could be a model": [404, () => errorOf("mode ".repeat(390_000))],
  "a page": [500, () => "<a> ".repeat(485_000)],
};
/** Encoded answers. */
const packed: Record<string, [string, () => Buffer]> = {
  "400 MB of lists in 400 KB": [
    "gzip",
    () =>
      Buffer.concat([
        gzipSync('{"choices":['),
        ...Array<Buffer>(40).fill(gzipSync(Buffer.alloc(10 * MB, "[],"))),
      ]),
  ],
  "100 MB, packed five times": [
    Array(5).fill("gzip").join(", "),
    () => {
      let body: Buffer = Buffer.alloc(100 * MB);
      for (let n = 0; n < 5; n++) body = gzipSync(body);
      return body;
    },
  ],
  "100 MB in Brotli": [
    "br",
    () => brotliCompressSync(Buffer.alloc(100 * MB), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  ],
  "100 MB in Zstandard, with the largest window": [
    "zstd",
    () => zstdCompressSync(Buffer.alloc(100 * MB), { params: { [constants.ZSTD_c_windowLog]: 27 } }),
  ],
};
const github: Record<string, [number, () => string]> = {
  "one number of 15 MB": [200, () => `[${"9".repeat(15 * MB)}]`],
};
const embeddings: Record<string, () => string> = {
  "96 vectors of 4,096 numbers": () => vectors(4_096),
  "96 vectors of 40,000 numbers": () => vectors(40_000),
};

/** The cost of any answer of a provider or of GitHub to the requesting process: its memory, and the time in which it is blocked. */
export async function benchAnswers(bench: Bench): Promise<void> {
  let answer: (response: ServerResponse) => void = (response) => void response.end(message("Fine."));
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    answer(response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const measure = async (kind: "chat" | "embeddings" | "github", what: string, send: typeof answer) => {
    answer = send;
    const script = join(import.meta.dirname, "answers-process.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [script, url, kind]);
    const report = JSON.parse(stdout) as AnswersReport;
    bench.add(
      plainRow(
        `answer of ${what}: time of the event loop (${report.end})`,
        report.milliseconds,
        "ms",
        // Only the command line requests vectors, in a process that serves no other requests.
        kind === "embeddings" ? 1_000 : 100,
      ),
    );
    bench.add(plainRow(`answer of ${what}: memory`, report.megabytes, "MB", 200));
  };
  try {
    for (const [what, text] of Object.entries(texts)) {
      const body = text();
      await measure("chat", what, (response) => void response.end(body));
    }
    for (const [what, [status, text]] of Object.entries(errors)) {
      const body = text();
      await measure("chat", `an error of ${what}`, (response) => void response.writeHead(status).end(body));
    }
    for (const [what, [encoding, bytes]] of Object.entries(packed)) {
      const body = bytes();
      const headers = { "content-encoding": encoding };
      await measure("chat", what, (response) => void response.writeHead(200, headers).end(body));
    }
    for (const [what, [status, text]] of Object.entries(github)) {
      const body = text();
      await measure("github", `GitHub's: ${what}`, (response) => void response.writeHead(status).end(body));
    }
    for (const [what, text] of Object.entries(embeddings)) {
      const body = text();
      await measure("embeddings", what, (response) => void response.end(body));
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
