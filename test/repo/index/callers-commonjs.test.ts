import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Graph } from "../../../src/repo/index/graph.ts";
import { callersOf, openTexts } from "./open-texts.ts";

const files = {
  "lib/tools.js":
    "function tidy() {}\nfunction wipe() {}\nfunction plain() {}\nmodule.exports = {\n  tidy,\n  clear: wipe, // under another name\n  late() {}\n};\nmodule.exports.plain = plain;\n",
  "lib/pool.js": "class Pool {\n  drain() {}\n}\nmodule.exports = Pool;\n",
  "lib/errors.js": "class Fault extends Error {}\nexports.Fault = Fault;\nexports.fail = function () {};\n",
  "lib/all.js": "module.exports = { ...require('./tools'), Pool: require('./pool') };\n",
  "lib/index.js": "module.exports = require('./all');\n",
  "app.js": `const tools = require("./lib/tools");
const Store = require("./lib/pool");
const { Fault, fail } = require("./lib/errors.js");
const lib = require("./lib");
tools.tidy();
tools.clear();
tools.late();
tools.plain();
new Store().drain();
fail();
lib.tidy();
new lib.Pool();
class Own extends Fault {
  constructor() {
    super("own");
  }
}
`,
  "fields.js": `const { Worker, Line } = require("./worker.js");
class Queue {
  constructor(abort) {
    this.abort = abort;
    this.head = this.tail = new Line();
    this.run = () => {
      const { abort } = this;
      abort();
      this.head.grow();
    };
  }
  /** @param {import("./worker").Worker} worker */
  drive(worker, { stop = makeStop() } = {}) {
    worker.spin();
    stop();
  }
}
function makeStop() {}
/**
 * @param {Worker} worker
 * @returns {Line}
 */
function lineOf(worker) {
  worker.spin();
}
lineOf().grow();
`,
  "worker.js":
    "class Worker {\n  abort() {}\n  spin() {}\n}\nclass Line {\n  grow() {}\n}\nmodule.exports = { Worker, Line };\n",
  "twice.js":
    "const { tidy } = require('./lib/tools');\nfunction inner() {\n  const { drive: tidy } = require('./worker');\n  tidy();\n}\ntidy();\n",
};

let graph: Graph;
beforeAll(async () => {
  graph = await openTexts(files);
});
afterAll(() => graph[Symbol.dispose]());

describe("callers in CommonJS", () => {
  it("Callers in CommonJS are found through every form of exports", () => {
    expect(callersOf(graph, "tidy")).toEqual(["app.js:11", "app.js:5", "twice.js:6"]);
    expect(callersOf(graph, "wipe")).toEqual(["app.js:6"]);
    expect(callersOf(graph, "late")).toEqual(["app.js:7"]);
    expect(callersOf(graph, "plain", "lib/tools.js")).toEqual(["app.js:8"]);
    expect(callersOf(graph, "fail")).toEqual(["app.js:10"]);
  });

  it("Callers of a class that is a module's value are found under every importer's name", () => {
    expect(callersOf(graph, "Pool", "lib/pool.js")).toEqual(["app.js:12", "app.js:9"]);
    expect(callersOf(graph, "drain")).toEqual(["app.js:9"]);
  });

  it("Callers of a class in CommonJS are those that extend it and call its constructor", () => {
    expect(callersOf(graph, "Fault")).toEqual(["app.js:15"]);
  });

  it("A name that a function imports for itself is no caller of another one", () => {
    const [symbol] = graph.symbols("tidy");
    expect(graph.callers(symbol!, 0).map(({ path, line }) => `${path}:${line}`)).not.toContain("twice.js:4");
  });
});

describe("callers in JavaScript without types", () => {
  it("Callers in JavaScript are found through fields that a constructor assigns", () => {
    expect(callersOf(graph, "grow")).toEqual(["fields.js:26", "fields.js:9"]);
  });

  it("A destructured field is no call of another class's method", () => {
    const [method] = graph.symbols("abort").filter(({ path }) => path === "worker.js");
    expect(graph.callers(method!, 0)).toEqual([]);
  });

  it("Callers in JavaScript are found through JSDoc types and default parameters", () => {
    expect(callersOf(graph, "spin")).toEqual(["fields.js:14", "fields.js:24"]);
    expect(callersOf(graph, "makeStop")).toEqual(["fields.js:13"]);
  });
});

it("Callers are found through an object literal of names", async () => {
  using own = await openTexts({
    "schemas.ts": "export function text() {}\nexport function list() {}\n",
    "z.ts":
      'import * as _schemas from "./schemas.ts";\nimport { list as many } from "./schemas.ts";\nconst z = { ..._schemas, many };\nexport const api = { z };\nz.text();\nz.many();\napi.z.list();\n',
    "uses.ts": 'import { api } from "./z.ts";\napi.z.text();\n',
  });
  expect(callersOf(own, "text")).toEqual(["uses.ts:2", "z.ts:5"]);
  expect(callersOf(own, "list")).toEqual(["z.ts:6", "z.ts:7"]);
});

it("A constant goes before a type of the same name", async () => {
  using own = await openTexts({
    "core.ts":
      "export interface Maker<T> {\n  start(value: T): void;\n}\nexport interface Text {\n  start(): void;\n}\nexport const Text: Maker<Text> = make();\n",
    "uses.ts": 'import * as core from "./core.ts";\ncore.Text.start(1);\n',
  });
  const [maker] = own.symbols("start");
  expect(own.callers(maker!).map(({ path, line }) => `${path}:${line}`)).toEqual(["uses.ts:2"]);
});
