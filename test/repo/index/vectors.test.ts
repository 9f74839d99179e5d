import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { createOpenAiEmbeddings } from "../../../src/agent/llm/openai-embeddings.ts";
import { registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import { Masks } from "../../../src/core/secrets/masks.ts";
import type { GraphSource } from "../../../src/repo/index/graph.ts";
import {
  canFindByMeaning,
  chunksToSend,
  createVectors,
  type VectorOptions,
} from "../../../src/repo/index/vectors.ts";
import {
  type FakeEmbeddings,
  type FakeEmbeddingsOptions,
  startFakeEmbeddings,
} from "../../support/fake-embeddings.ts";
import { plantedSecrets } from "../../support/secret-corpus.ts";
import { sourceOfTexts } from "./open-texts.ts";

const never = new AbortController().signal;
const opened: DatabaseSync[] = [];
afterEach(() => {
  for (const database of opened.splice(0)) database.close();
});

/** An index with the files of one head. */
function openIndex(source: GraphSource, file = ":memory:"): DatabaseSync {
  const database = new DatabaseSync(file, { allowExtension: true });
  opened.push(database);
  database.exec(
    "CREATE TEMP TABLE present (path TEXT PRIMARY KEY, oid TEXT NOT NULL, blob INTEGER) WITHOUT ROWID",
  );
  const insert = database.prepare("INSERT INTO temp.present VALUES (?, ?, NULL)");
  for (const { path, oid } of source.files) insert.run(path, oid);
  return database;
}

function embedderAt(endpoint: FakeEmbeddings, model = "small") {
  const retry = { timeoutMs: 5_000, maxRetries: 0 };
  return createOpenAiEmbeddings({ apiKey: "test-key", baseUrl: endpoint.url, model, ...retry });
}

/** Vectors of these files at a real endpoint on this machine. */
async function setUp(
  texts: Record<string, string>,
  more: Partial<VectorOptions> = {},
  server: FakeEmbeddingsOptions = {},
) {
  const endpoint = await startFakeEmbeddings(server);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const source = sourceOfTexts(new Map(Object.entries(texts)));
  const warnings: string[] = [];
  const options: VectorOptions = {
    ...{ embedder: embedderAt(endpoint), source, maxTokens: 100_000 },
    warn: (text) => void warnings.push(text),
    ...more,
  };
  const sent = () => endpoint.requests.flatMap(({ body }) => body.input);
  return { endpoint, source, options, warnings, sent };
}

const temporaryFile = () => {
  const folder = mkdtempSync(join(tmpdir(), "hunkwise-test-vectors-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "index.db");
};

const shop = {
  "src/cart.ts": "/** Adds discount vouchers to the basket. */\nexport const voucher = 1;\n",
  "src/mail.ts": "/** Sends letters through the postal gateway. */\nexport const letters = 2;\n",
  "docs/money.md": "# Rounding\n\nCents are rounded half to even.\n",
  "package-lock.json": '{ "voucher": "basket discount" }',
  "logo.svg": "<svg>basket</svg>",
  "vendor/theirs.js": "export const voucher = basket;\n",
};

const isThere = canFindByMeaning();
if (!isThere) console.warn("NOT TESTED: vectors of a repository, for sqlite-vec cannot be loaded here");

describe.skipIf(!isThere)("vectors of a repository", () => {
  it("Vectors find parts of files by meaning, nearest first", async () => {
    const { options, source } = await setUp(shop);
    const vectors = createVectors(options);
    const nearest = vectors.open(openIndex(source));

    expect(await vectors.update(never)).toEqual({ embedded: 3, left: 0, tokens: expect.any(Number) });
    const found = await nearest.nearest("a letter by postal gateway sends", 2, never);

    const oid = source.files.find(({ path }) => path === "src/mail.ts")?.oid;
    expect(found).toHaveLength(2);
    expect(found[0]).toMatchObject({ oid, startLine: 1, endLine: 2 });
    expect(found[0]!.distance).toBeLessThan(found[1]!.distance);
  });

  it("Vectors of a repository are made once for each content, whatever its path and head", async () => {
    const file = temporaryFile();
    const first = await setUp(shop);
    const vectors = createVectors(first.options);
    vectors.open(openIndex(first.source, file));
    await vectors.update(never);

    const texts = {
      ...shop,
      "moved/mail.ts": shop["src/mail.ts"],
      "src/new.ts": "export const freight = 3;\n",
    };
    const source = sourceOfTexts(new Map(Object.entries(texts)));
    const later = createVectors({ ...first.options, source });
    later.open(openIndex(source, file));
    const before = first.sent().length;

    expect(await later.update(never)).toMatchObject({ embedded: 1, left: 0 });
    expect(first.sent().slice(before)).toEqual(["export const freight = 3;"]);
  });

  it("Vectors of a repository do not find files that are not at the head, however near they are", async () => {
    const file = temporaryFile();
    const many = Object.fromEntries(
      Array.from({ length: 260 }, (_, at) => [`old/${at}.ts`, `export const basket = "voucher ${at}";\n`]),
    );
    const { options, source } = await setUp({ ...many, ...shop });
    const vectors = createVectors(options);
    vectors.open(openIndex(source, file));
    await vectors.update(never);

    const now = sourceOfTexts(new Map(Object.entries(shop)));
    const nearest = createVectors({ ...options, source: now }).open(openIndex(now, file));
    const found = await nearest.nearest("basket voucher", 3, never);

    const present = new Set(now.files.map(({ oid }) => oid));
    expect(found).toHaveLength(3);
    expect(found.every(({ oid }) => present.has(oid))).toBe(true);
  });

  it("Vectors of another model are deleted", async () => {
    const file = temporaryFile();
    const { options, source, endpoint } = await setUp(shop);
    const vectors = createVectors(options);
    vectors.open(openIndex(source, file));
    await vectors.update(never);

    const other = createVectors({ ...options, embedder: embedderAt(endpoint, "large") });
    const nearest = other.open(openIndex(source, file));
    expect(await nearest.nearest("basket", 3, never)).toEqual([]);
    expect(await other.update(never)).toMatchObject({ embedded: 3 });
  });

  it("No secret is sent: by form, of this server, of a key, or revealed elsewhere", async () => {
    const password = "Tr0ub4dor-and-3-horses";
    registerSecret(password);
    const token = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
    const body = Array.from({ length: 6 }, () => `${"MIIEowIBAAKCAQEA7xk9Q2".repeat(2)}xyz`).join("\n");
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`;
    const shared = "vK3qP9zXw2LmN8rT";
    const { options, source, sent } = await setUp({
      "a.ts": `const token = "${token}";\nconst word = "${password}";\n`,
      "b.md": `Send ${shared} along.\n`,
      "c.ts": `const client_secret = "${shared}";\n`,
      "key.ts": `export const key = \`${key}\`;\n`,
    });
    const vectors = createVectors(options);
    const nearest = vectors.open(openIndex(source));
    await vectors.update(never);
    await nearest.nearest(`where is ${token} or ${password} used?`, 2, never);

    const text = sent().join("\n");
    expect(text).toContain("const token");
    expect(text).toContain("where is [secret]");
    for (const secret of [token, password, shared, "MIIEowIBAAKCAQEA"]) expect(text).not.toContain(secret);
  });

  it("No kind of secret is sent, neither of files nor of a question", async () => {
    const planted = plantedSecrets(1).filter((_, at) => at % 3 === 0);
    const files = planted.map(({ text }, at) => [`docs/how-${at}.md`, `# How it is set\n\n${text}\n`]);
    const { options, source, sent } = await setUp(Object.fromEntries(files), { maxTokens: 10_000_000 });
    const vectors = createVectors(options);
    const nearest = vectors.open(openIndex(source));
    await vectors.update(never);
    for (const { text } of planted.slice(0, 20)) await nearest.nearest(`Who reads ${text}?`, 1, never);

    const all = sent().join("\n");
    expect(all.match(/# How it is set/g)).toHaveLength(planted.length);
    const lines = planted.flatMap(({ secret }) => secret.split(/\n|\\n/));
    const telling = lines.filter((line) => line.length >= 16 && !/-----|"|: /.test(line));
    expect(telling.filter((line) => all.includes(line))).toEqual([]);
  });

  it("An update stops when its tokens are used up, and the next one goes on", async () => {
    const texts = Object.fromEntries(
      Array.from({ length: 4 }, (_, at) => [
        `${at}.ts`,
        `export const name${at} = "${"word ".repeat(60)}";\n`,
      ]),
    );
    const { options, source, sent } = await setUp(texts, { maxTokens: 250 });
    const vectors = createVectors(options);
    vectors.open(openIndex(source));

    expect(await vectors.update(never)).toMatchObject({ embedded: 2, left: 2 });
    expect(sent()).toHaveLength(2);
    expect(await vectors.update(never)).toMatchObject({ embedded: 2, left: 0 });
  });

  it("An update keeps its vectors if the endpoint fails, and warns", async () => {
    const texts = Object.fromEntries(
      Array.from({ length: 150 }, (_, at) => [`${at}.ts`, `export const name${at} = "some words";\n`]),
    );
    const server: FakeEmbeddingsOptions = { fault: (n) => (n === 1 ? { status: 500 } : null) };
    const { options, source, warnings } = await setUp(texts, {}, server);
    const vectors = createVectors(options);
    vectors.open(openIndex(source));

    expect(await vectors.update(never)).toMatchObject({ embedded: 96, left: 54 });
    expect(warnings).toEqual([expect.stringContaining("only found by words")]);
    expect(await vectors.update(never)).toMatchObject({ embedded: 54, left: 0 });
  });

  it("An endpoint that is down is asked only once", async () => {
    const { options, source, endpoint, warnings } = await setUp(
      shop,
      {},
      { fault: (n) => (n > 0 ? "reset" : null) },
    );
    const vectors = createVectors(options);
    const nearest = vectors.open(openIndex(source));
    await vectors.update(never);

    expect(await nearest.nearest("basket", 2, never)).toEqual([]);
    expect(await nearest.nearest("letters", 2, never)).toEqual([]);
    expect(endpoint.requests).toHaveLength(2);
    expect(warnings).toEqual([expect.stringContaining("searches only by words")]);
  });

  it("Nothing is sent without sqlite-vec", async () => {
    const { options, source, sent } = await setUp(shop);
    const database = new DatabaseSync(":memory:");
    opened.push(database);
    const vectors = createVectors(options);
    const nearest = vectors.open(database);

    expect(await vectors.update(never)).toEqual({ embedded: 0, left: 0, tokens: 0 });
    expect(await nearest.nearest("basket", 2, never)).toEqual([]);
    expect(sent()).toEqual([]);
    expect(source.files).toHaveLength(6);
  });

  it("The database allows no further extensions", async () => {
    const { options, source } = await setUp(shop);
    const database = openIndex(source);
    createVectors(options).open(database);
    expect(() => database.loadExtension("x")).toThrow(/not allowed/);
    expect(() => database.prepare("SELECT load_extension('x')").get()).toThrow(/not authorized/);
  });

  it("An aborted update keeps its vectors", async () => {
    const { options, source } = await setUp(shop);
    const vectors = createVectors(options);
    vectors.open(openIndex(source));
    const ending = new AbortController();
    ending.abort();

    await expect(vectors.update(ending.signal)).rejects.toThrow();
    expect(await vectors.update(never)).toMatchObject({ embedded: 3 });
  });
});

async function chunksOf(text: string) {
  const masks = new Masks();
  return chunksToSend(await masks.learn(text), masks);
}

describe("the chunks of a file", () => {
  it("The chunks of a file have each line with a word once, in order", async () => {
    const line = fc.oneof(
      fc.constant(""),
      fc.stringMatching(/^[a-z]{2,8}( = [a-z]{2,8}){0,9}$/),
      fc.constant("x".repeat(2_000)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 200 }), async (lines) => {
        const chunks = await chunksOf(lines.join("\n"));
        let last = 0;
        for (const { startLine, endLine, text } of chunks) {
          expect(startLine).toBeGreaterThan(last);
          expect(text.length).toBeLessThanOrEqual(1_800);
          const own = lines.slice(startLine - 1, endLine).map((one) => one.slice(0, 400));
          expect(text).toBe(own.join("\n"));
          last = endLine;
        }
        const inChunks = chunks.reduce((sum, { text }) => sum + text.split("\n").filter(Boolean).length, 0);
        expect(inChunks).toBe(lines.filter(Boolean).length);
      }),
      { numRuns: 60 },
    );
  });

  it("The chunks of a file end where something new starts", async () => {
    const body = "  const value = compute();\n".repeat(26);
    const text = ["one", "two", "three"].map((name) => `function ${name}() {\n${body}}\n`).join("\n");

    const chunks = await chunksOf(text);

    expect(chunks.map(({ text: own }) => own.split("\n")[0])).toEqual([
      "function one() {",
      "function two() {",
      "function three() {",
    ]);
  });

  it("A text without words has no chunks", async () => {
    expect(await chunksOf("")).toEqual([]);
    expect(await chunksOf("{}\n\n1, 2, 3\n")).toEqual([]);
  });

  it("The chunks of a file keep the line numbers after a private key of several lines", async () => {
    const line = `${"MIIEowIBAAKCAQEA7xk9Q2".repeat(2)}xyz`;
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${line}\n`.repeat(6)}-----END RSA PRIVATE KEY-----`;
    const text = `const key = \`${key}\`;\nconst other = 1;\n`;
    expect(await chunksOf(text)).toEqual([
      { startLine: 1, endLine: 9, text: text.replaceAll(line, "[secret]").trim() },
    ]);
  });

  it("The chunks of a file hold no secret that another file revealed", async () => {
    const masks = new Masks();
    await masks.learn('client_secret = "vK3qP9zXw2LmN8rT"');
    const [chunk] = chunksToSend(await masks.learn("call with vK3qP9zXw2LmN8rT in the header"), masks);
    expect(chunk?.text).toBe("call with [secret] in the header");
  });

  it("The chunks of a file keep the line numbers after a secret on one line", async () => {
    const chunks = await chunksOf(`const key = "ghp_${"a1B2c3D4e5F6".repeat(3)}";\n\nconst other = 1;\n`);
    expect(chunks).toEqual([
      { startLine: 1, endLine: 3, text: 'const key = "[secret]";\n\nconst other = 1;' },
    ]);
  });
});
