"use strict";
/**
 * Loaded by `--require` into every Node process and worker of a run (Node 18 and newer): writes down which functions of the repository ran.
 * `--require` and not `--import`, which would make Node load a program of CommonJS in another way.
 *
 * It appends to a file, some times a second, because test runners kill their workers. It must change neither output nor exit code: on any
 * fault it stops recording.
 */
const { appendFileSync, mkdirSync, readFileSync } = require("node:fs");
const { Session } = require("node:inspector");
const { dirname, join, relative, sep } = require("node:path");
const { fileURLToPath } = require("node:url");
const { BroadcastChannel, isMainThread, threadId, Worker } = require("node:worker_threads");
// Before a test replaces them with its own clock.
const { clearTimeout, setTimeout } = require("node:timers");
const { now } = performance;

const root = dirname(__dirname);
const folder = join(__dirname, "report");
const file = join(folder, `${process.pid}-${threadId}.jsonl`);
/** Lines of one process or thread. */
const MAX_LINES = 20_000;
const EVERY_MS = 100;
/** The share of the time that recording may take: one of so many. */
const SHARE = 10;

const seen = new Set();
const texts = new Map();
let session = null;

/** The path in the repository; null for any other file. */
function pathOf(url) {
  if (!url.startsWith("file:") && !url.startsWith("/")) return null;
  // Vite and others add a query.
  const full = url.startsWith("file:") ? fileURLToPath(url) : url.replace(/\?.*$/, "");
  if (!full.startsWith(root + sep) || full.startsWith(__dirname + sep)) return null;
  return full.includes(`${sep}node_modules${sep}`) ? null : relative(root, full);
}

function textOf(path) {
  if (!texts.has(path)) {
    let text = "";
    try {
      text = readFileSync(join(root, path), "utf8");
    } catch {
      // The code was made, or its file is gone.
    }
    texts.set(path, text);
  }
  return texts.get(path);
}

/**
 * The line of a function in its file. The running text may be another one, without types or with the imports rewritten: then the place
 * nearest to the offset that looks like a definition of the name is right more often than the offset.
 */
function lineOf(path, name, offset) {
  const text = textOf(path);
  const far = (at) => Math.abs(at - offset);
  const places = /^[\w$]+$/.test(name) ? definitionsOf(text, name) : [];
  const at = places.length > 0 ? places.reduce((best, one) => (far(one) < far(best) ? one : best)) : offset;
  return text.slice(0, at).split("\n").length;
}

const modifiers = "(?:(?:async|static|get|set|public|private|protected|override)\\s+)*[*#]?";

function definitionsOf(text, name) {
  const word = name.replaceAll("$", "\\$");
  const shapes = [
    `(?<=\\b(?:function\\s*\\*?|class)\\s*)\\b${word}(?![\\w$])`,
    `(?<![\\w$.])${word}\\??\\s*(?:=(?!=)|:)`,
    `(?<=^[ \\t]*${modifiers}\\s*)(?<![\\w$])${word}\\s*[(<]`,
  ];
  return [...text.matchAll(new RegExp(shapes.join("|"), "gm"))].map(({ index }) => index);
}

/** The function that a loader puts around a file: Vite's begins at once, Jest's has this name. */
const isWrapper = (name, offset, index) =>
  index > 0 && ((name === "" && offset <= 1) || name === "Object.<anonymous>");

function linesOf({ url, functions }) {
  const path = pathOf(url);
  if (path === null) return [];
  const lines = [];
  functions.forEach(({ functionName, ranges: [{ startOffset, count }] }, index) => {
    const key = `${path}\0${functionName}\0${startOffset}`;
    if (count === 0 || seen.has(key) || isWrapper(functionName, startOffset, index)) return;
    // A static block and the fields of a class have names with brackets.
    if (functionName.startsWith("<")) return;
    seen.add(key);
    // The first one is the file itself.
    const name = index === 0 ? "" : functionName || "(anonymous)";
    const line = index === 0 ? 1 : lineOf(path, functionName, startOffset);
    lines.push(`${JSON.stringify({ path, name, line })}\n`);
  });
  return lines;
}

function record() {
  if (!session || seen.size > MAX_LINES) return;
  try {
    // Unlike takePreciseCoverage, this leaves the counters to a test that measures its own coverage. It answers at once.
    session.post("Profiler.getBestEffortCoverage", (error, found) => {
      if (error) throw error;
      const lines = found.result.flatMap(linesOf);
      if (lines.length > 0) appendFileSync(file, lines.join(""));
    });
  } catch {
    session = null;
  }
}

function recordAgain(delay) {
  setTimeout(() => {
    const start = now.call(performance);
    record();
    if (session) recordAgain(Math.max(EVERY_MS, SHARE * (now.call(performance) - start)));
  }, delay).unref();
}

/** Vitest and others end their processes with this signal. Without a listener of the program, it ends this process as it would without ours. */
function recordBeforeSignal() {
  const onSignal = () => {
    record();
    if (process.listenerCount("SIGTERM") > 1) return;
    process.off("SIGTERM", onSignal);
    process.kill(process.pid, "SIGTERM");
  };
  process.on("SIGTERM", onSignal);
}

/** How long a thread may take to answer before it is ended. */
const ANSWER_MS = 500;

/** A thread that is terminated gets no event: whoever terminates it asks it to record first. */
function recordBeforeTermination() {
  const name = `hunkwise ${__dirname}`;
  if (!isMainThread) {
    const channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }) => {
      if (data.ask !== threadId) return;
      record();
      channel.postMessage({ done: threadId });
    };
    channel.unref();
  }
  const { terminate } = Worker.prototype;
  Worker.prototype.terminate = function (...rest) {
    const id = this.threadId;
    if (id <= 0) return terminate.apply(this, rest);
    return new Promise((resolve) => {
      const channel = new BroadcastChannel(name);
      const end = () => {
        clearTimeout(timer);
        channel.close();
        resolve(terminate.apply(this, rest));
      };
      const timer = setTimeout(end, ANSWER_MS);
      channel.onmessage = ({ data }) => {
        if (data.done === id) end();
      };
      channel.postMessage({ ask: id });
    });
  };
}

try {
  mkdirSync(folder, { recursive: true });
  session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  process.on("exit", record);
  if (isMainThread) recordBeforeSignal();
  recordBeforeTermination();
  recordAgain(EVERY_MS);
} catch {
  // A program that is not allowed to do this runs without.
  session = null;
}
