import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  ciTargetBranch,
  inspectEnv,
  rawEnv,
  readEnv,
  readLocalEnv,
  secretsOf,
  withModel,
} from "../../src/config/env.ts";
import { givenColumns } from "../../src/config/process-env.ts";
import { readServerEnv, storeApp } from "../../src/config/server-env.ts";
import { environmentDocs, type RawEnv, unknownOf } from "../../src/config/variables.ts";
import { AppError } from "../../src/core/errors.ts";

const folder = mkdtempSync(join(tmpdir(), "hunkwise-env-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const { privateKey: key, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pkcs1 = key.export({ type: "pkcs1", format: "pem" }).toString();
const pkcs8 = key.export({ type: "pkcs8", format: "pem" }).toString();
const locked = key
  .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" })
  .toString();
const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();
const app = { APP_ID: "12", PRIVATE_KEY: pkcs8, WEBHOOK_SECRET: "long enough to be one" };

function failure(raw: RawEnv): string {
  try {
    readEnv(raw);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe("config_invalid");
    return (error as AppError).line;
  }
  return "no failure";
}

describe("readEnv", () => {
  it("An empty environment has the documented defaults, no App and no model", () => {
    const env = readEnv({});
    expect(env).toMatchObject({
      app: null,
      model: null,
      port: 3000,
      host: null,
      webhookPath: "/api/github/webhooks",
      logLevel: "info",
      concurrency: 2,
      pushWindowMs: 10_000,
      github: { host: "github.com", apiUrl: "https://api.github.com", webUrl: "https://github.com" },
    });
  });

  it("The data folder does not depend on the current folder", () => {
    const own = join(import.meta.dirname, "../..");
    const current = process.cwd();
    process.chdir(folder);
    try {
      expect(readEnv({}).dataDir).toBe(join(own, ".hunkwise"));
      expect(readEnv({ HUNKWISE_DATA_DIR: "data" }).dataDir).toBe(join(own, "data"));
      expect(readEnv({ HUNKWISE_DATA_DIR: "/var/lib/hunkwise" }).dataDir).toBe("/var/lib/hunkwise");
    } finally {
      process.chdir(current);
    }
  });

  it("A path in .env is relative to that file", () => {
    file(
      ".env",
      "HUNKWISE_PRICES=prices.json\nPRIVATE_KEY_PATH=/etc/key.pem\nHUNKWISE_MODEL=m\nHUNKWISE_DATA_DIR=data\n",
    );
    expect(rawEnv(folder)).toMatchObject({
      ...{ HUNKWISE_PRICES: join(folder, "prices.json"), PRIVATE_KEY_PATH: "/etc/key.pem" },
      ...{ HUNKWISE_MODEL: "m", HUNKWISE_DATA_DIR: "data" },
    });
    rmSync(join(folder, ".env"));
  });

  it("A notice names each empty variable and each misspelled one", () => {
    const raw = {
      ...{ OPENAI_API_KEY: " ", HTTPS_PROXY: "", NODE_EXTRA_CA_CERTS: "", HOME: "", PORT: "3000" },
      ...{ HUNKWISE_MODLE: "m", HUNKWSE_PROTOCOL: "text", HUNKWISE_NEW: "1", openai_base_url: "http://x" },
      ...{ OPENAI_ORG_ID: "o", GH_HOST: "h", FTP_PROXY: "p", NODE_ENV: "production", HOSTNAME: "h" },
    };
    expect(readEnv(raw).notices).toEqual([
      "OPENAI_API_KEY is set but empty; it counts as unset",
      "HUNKWISE_MODLE is not a known variable. Did you mean HUNKWISE_MODEL?",
      "HUNKWSE_PROTOCOL is not a known variable. Did you mean HUNKWISE_PROTOCOL?",
      "HUNKWISE_NEW is not a known variable",
      "openai_base_url is not a known variable. Did you mean OPENAI_BASE_URL?",
    ]);
    const local = {
      OPENAI_API_KEY: "",
      PORT: "",
      HUNKWISE_MODLE: "m",
      HUNKWISE_NEW: "1",
      HUNKWISE_SKIP_HOOK: "0",
    };
    expect(readLocalEnv(local).notices).toEqual([
      "OPENAI_API_KEY is set but empty; it counts as unset",
      "HUNKWISE_MODLE is not a known variable. Did you mean HUNKWISE_MODEL?",
      "HUNKWISE_NEW is not a known variable",
    ]);
    for (const read of [readEnv, readLocalEnv])
      expect(read({ HUNKWISE_MODEL: "m" }).notices).toEqual([
        expect.stringMatching(/^HUNKWISE_MODEL is set, but no key/),
      ]);
    expect(readEnv({ PORT: "3000" }).notices).toEqual([]);
  });

  it.each([
    ["OPENAI_KEY", "OPENAI_API_KEY"],
    ["OPENAI_API_BASE", "OPENAI_BASE_URL"],
    ["ANTHROPIC_KEY", "ANTHROPIC_API_KEY"],
    ["AZURE_OPENAI_KEY", "AZURE_OPENAI_API_KEY"],
    ["HUNKWISE_FALLBACK_KEY", "HUNKWISE_FALLBACK_API_KEY"],
    ["openai_api_key", "OPENAI_API_KEY"],
  ])("A notice says that %s may mean %s, unless both are set", (name, meant) => {
    const said = [`${name} is not a known variable. Did you mean ${meant}?`];
    for (const read of [readEnv, readLocalEnv]) expect(read({ [name]: "canary" }).notices).toEqual(said);
    expect(unknownOf({ [name]: "canary", [meant]: "value" })).toEqual([]);
  });

  it("The error for a missing variable names the misspelled one that may explain it", () => {
    expect(() => readLocalEnv({ OPENAI_BASE_URL: "http://x/v1", HUNKWISE_MODLE: "m" })).toThrow(
      /^HUNKWISE_MODEL is missing\. .* HUNKWISE_MODLE is not a known variable\. Did you mean HUNKWISE_MODEL\?$/,
    );
  });

  it.each([
    [{ OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b" }, ["ANTHROPIC_API_KEY"]],
    [{ OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b", HUNKWISE_MODEL: "claude-x" }, ["OPENAI_API_KEY"]],
    [{ OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b", HUNKWISE_FALLBACK_MODEL: "claude-x" }, []],
    [{ AZURE_OPENAI_API_KEY: "a" }, ["AZURE_OPENAI_API_KEY"]],
    [
      { ANTHROPIC_API_KEY: "a", ANTHROPIC_BASE_URL: "http://x/" },
      ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
    ],
    [{ ANTHROPIC_API_KEY: "a", ANTHROPIC_BASE_URL: "http://x/", HUNKWISE_MODEL: "m" }, []],
    [{ OPENAI_API_KEY: "a", OPENAI_BASE_URL: "http://x/v1", HUNKWISE_MODEL: "m" }, []],
  ])("A notice for %j names the variables that no model uses: %j", (raw, unused) => {
    const { notices } = readLocalEnv(raw);
    expect(notices.map((notice) => /^(\w+) is set but not used: /.exec(notice)?.[1])).toEqual(unused);
  });

  it("inspectEnv goes on after faults and names each variable once", () => {
    const { env, faults } = inspectEnv({
      APP_ID: "x",
      PRIVATE_KEY: pkcs8,
      PORT: "y",
      HUNKWISE_CONCURRENCY: "3",
    });
    expect(faults.map(({ variable }) => variable)).toEqual(["APP_ID", "PORT", "WEBHOOK_SECRET"]);
    expect(env).toMatchObject({ app: null, port: 3_000, concurrency: 3 });
  });

  it("A blank value counts as unset, and white space around a value is dropped", () => {
    expect(readEnv({ APP_ID: "", PRIVATE_KEY: "  ", OPENAI_API_KEY: "", PORT: " 81 " })).toMatchObject({
      app: null,
      model: null,
      port: 81,
    });
  });

  it("The documentation of each variable names the default that holds", () => {
    const defaults = Object.fromEntries(environmentDocs.map((one) => [one.name, one.default ?? undefined]));
    const { HUNKWISE_MODEL: model, ...others } = defaults;
    expect(readEnv(others)).toEqual(readEnv({}));
    expect(readEnv({ OPENAI_API_KEY: "k" }).model?.name).toBe(model);
    expect(environmentDocs.filter(({ description }) => !/^.+\.$/.test(description))).toEqual([]);
  });

  it(".env.example names each variable", () => {
    const example = readFileSync(join(import.meta.dirname, "../../.env.example"), "utf8");
    for (const { name } of environmentDocs) expect(example).toMatch(new RegExp(`^# ?${name}=`, "m"));
  });

  it.each([
    ["an enterprise server", { GHE_HOST: "git.corp:8443" }, "https://git.corp:8443/api/v3"],
    ["one without TLS", { GHE_HOST: "127.0.0.1:99", GHE_PROTOCOL: "http" }, "http://127.0.0.1:99/api/v3"],
    ["data residency", { GHE_HOST: "corp.ghe.com" }, "https://api.corp.ghe.com"],
    ["github.com, which has TLS whatever is said", { GHE_PROTOCOL: "http" }, "https://api.github.com"],
  ])("The address of the API is found for %s", (_, raw, apiUrl) =>
    expect(readEnv(raw).github.apiUrl).toBe(apiUrl),
  );

  const placeOf = (variables: Record<string, string>) => {
    const { model } = readEnv(variables);
    const { fallback = null } = model ?? {};
    const place = (one: typeof fallback) => one && [one.api, one.baseUrl, one.apiKey, one.name];
    return fallback === null ? place(model) : [place(model), place(fallback)];
  };
  const claude = ["anthropic", "https://api.anthropic.com", "a", "claude-sonnet-5-5"];
  const [A, O] = [{ ANTHROPIC_API_KEY: "a" }, { OPENAI_API_KEY: "o" }];

  it.each<[string, Record<string, string>, unknown]>([
    ["is enough to start", A, claude],
    ["does nothing beside a key of OpenAI", { ...A, ...O }, ["openai", null, "o", "gpt-6.1-sol"]],
    [
      "is for a model that only Anthropic has",
      { ...A, ...O, HUNKWISE_MODEL: "claude-opus-5" },
      ["anthropic", claude[1], "a", "claude-opus-5"],
    ],
    [
      "does not go to another server",
      { ...A, OPENAI_BASE_URL: "http://localhost:1/v1", HUNKWISE_MODEL: "claude-opus-5" },
      ["openai", "http://localhost:1/v1", null, "claude-opus-5"],
    ],
    [
      "is for another service with its API",
      { ...A, ANTHROPIC_BASE_URL: "https://gateway.example/claude/", HUNKWISE_MODEL: "c" },
      ["anthropic", "https://gateway.example/claude", "a", "c"],
    ],
    [
      "is for a fallback next to OpenAI's own service",
      { ...A, ...O, HUNKWISE_FALLBACK_MODEL: "claude-opus-5" },
      [
        ["openai", null, "o", "gpt-6.1-sol"],
        ["anthropic", claude[1], "a", "claude-opus-5"],
      ],
    ],
    [
      "is not for a fallback at another server, which may have such a model",
      {
        ...A,
        ...O,
        OPENAI_BASE_URL: "http://localhost:1/v1",
        HUNKWISE_MODEL: "m",
        HUNKWISE_FALLBACK_MODEL: "claude-opus-5",
      },
      [
        ["openai", "http://localhost:1/v1", "o", "m"],
        ["openai", "http://localhost:1/v1", "o", "claude-opus-5"],
      ],
    ],
    [
      "leaves the key of OpenAI to a fallback of OpenAI",
      { ...A, ...O, HUNKWISE_MODEL: "claude-opus-5", HUNKWISE_FALLBACK_MODEL: "gpt-5" },
      [
        ["anthropic", claude[1], "a", "claude-opus-5"],
        ["openai", null, "o", "gpt-5"],
      ],
    ],
    [
      "serves a fallback of its own",
      { ...A, HUNKWISE_FALLBACK_MODEL: "claude-haiku-4-5" },
      [claude, ["anthropic", claude[1], "a", "claude-haiku-4-5"]],
    ],
    [
      "is known by the address of a fallback",
      {
        ...O,
        HUNKWISE_FALLBACK_MODEL: "x",
        HUNKWISE_FALLBACK_BASE_URL: "https://api.anthropic.com",
        HUNKWISE_FALLBACK_API_KEY: "f",
      },
      [
        ["openai", null, "o", "gpt-6.1-sol"],
        ["anthropic", "https://api.anthropic.com", "f", "x"],
      ],
    ],
    [
      "needs more than an address",
      { ANTHROPIC_BASE_URL: "https://gateway.example", HUNKWISE_MODEL: "c" },
      null,
    ],
  ])("ANTHROPIC_API_KEY %s", (_, variables, place) => expect(placeOf(variables)).toEqual(place));

  it("ANTHROPIC_BASE_URL of a gateway is not used unless a model is named", () => {
    expect(placeOf({ ...A, ANTHROPIC_BASE_URL: "https://gateway.example" })).toBeNull();
    expect(placeOf({ ...A, ANTHROPIC_BASE_URL: "https://api.anthropic.com/v1" })?.[0]).toBe("anthropic");
  });

  it("Embeddings never go to Anthropic and use OpenAI's key", () => {
    expect(() => readEnv({ ...A, HUNKWISE_EMBEDDING_MODEL: "e" })).toThrow(/HUNKWISE_EMBEDDING_API_KEY/);
    const both = { ...A, ...O, HUNKWISE_MODEL: "claude-opus-5", HUNKWISE_EMBEDDING_MODEL: "e" };
    expect(readEnv(both).embedding).toMatchObject({ name: "e", apiKey: "o", baseUrl: null });
  });

  it("OpenAI has a default model; another server needs a named one and maybe no key", () => {
    expect(readEnv({ OPENAI_API_KEY: "sk-1" }).model).toMatchObject({
      apiKey: "sk-1",
      baseUrl: null,
      contextTokens: 128_000,
    });
    expect(readEnv({ OPENAI_BASE_URL: "http://localhost:11434/v1/", HUNKWISE_MODEL: "qwen3" }).model).toEqual(
      {
        api: "openai",
        apiKey: null,
        baseUrl: "http://localhost:11434/v1",
        name: "qwen3",
        contextTokens: 128_000,
        contextIsConfigured: false,
        protocol: "auto",
        reasoningEffort: null,
        verify: null,
        fallback: null,
      },
    );
  });

  it.each(["fallback", "verify"] as const)(
    "The model for %s uses the same endpoint and key, or another endpoint with only its own key",
    (role) => {
      const prefix = `HUNKWISE_${role.toUpperCase()}`;
      const raw = { ...O, HUNKWISE_CONTEXT_TOKENS: "1000000", HUNKWISE_PROTOCOL: "text" };
      const read = (more: Record<string, string>) => readEnv({ ...raw, ...more }).model?.[role];
      const named = { [`${prefix}_MODEL`]: "small" };
      const found = { contextIsConfigured: false, contextTokens: 128_000, protocol: "auto" };
      const asConfigured = { contextIsConfigured: true, contextTokens: 1_000_000, protocol: "text" };
      // How the others are spoken with says nothing of a fallback, and nothing of another endpoint.
      const known = role === "verify" ? asConfigured : found;
      expect(read(named)).toMatchObject({ name: "small", apiKey: "o", baseUrl: null, ...known });
      const elsewhere = { ...named, [`${prefix}_BASE_URL`]: "http://localhost:8000/v1/" };
      const there = { name: "small", apiKey: null, baseUrl: "http://localhost:8000/v1", ...found };
      expect(read(elsewhere)).toMatchObject(there);
      const key = { [`${prefix}_API_KEY`]: "sk-2" };
      expect(read({ ...named, ...key })).toMatchObject({ apiKey: "sk-2", baseUrl: null });
      expect(secretsOf(readEnv({ ...raw, ...named, ...key }))).toEqual(["o", "sk-2"]);
      expect(() => read(key)).toThrow(`${prefix}_MODEL is missing`);
    },
  );

  it("A model of another provider verifies with the key that is set for that provider", () => {
    const raw = { ...A, ...O, HUNKWISE_VERIFY_MODEL: "claude-opus-5" };
    const place = { api: "anthropic", apiKey: "a", baseUrl: claude[1], name: "claude-opus-5" };
    expect(readEnv(raw)).toMatchObject({ notices: [], model: { apiKey: "o", verify: place } });
  });

  it("No other model verifies if the same one is named at the same place", () => {
    const raw = { ...O, HUNKWISE_MODEL: "m", HUNKWISE_VERIFY_MODEL: "m" };
    expect(readEnv(raw).model?.verify).toBeNull();
    const account = { ...raw, HUNKWISE_VERIFY_API_KEY: "sk-2" };
    expect(readEnv(account).model?.verify).toMatchObject({ name: "m", apiKey: "sk-2" });
  });

  it("An embedding model uses the same endpoint and key, or another endpoint with only its own key", () => {
    const raw = { OPENAI_API_KEY: "sk-1", HUNKWISE_EMBEDDING_MODEL: "vectors" };
    expect(readEnv({ OPENAI_API_KEY: "sk-1" }).embedding).toBeNull();
    const here = { name: "vectors", apiKey: "sk-1", baseUrl: null };
    expect(readEnv(raw).embedding).toEqual(here);
    expect(readLocalEnv(raw).embedding).toEqual(here);
    const elsewhere = { ...raw, HUNKWISE_EMBEDDING_BASE_URL: "http://localhost:8000/v1/" };
    expect(readEnv(elsewhere).embedding).toMatchObject({ apiKey: null, baseUrl: "http://localhost:8000/v1" });
    const own = { ...elsewhere, HUNKWISE_EMBEDDING_API_KEY: "sk-2" };
    expect(readEnv(own).embedding).toMatchObject({ apiKey: "sk-2" });
    expect(secretsOf(readEnv(own))).toContain("sk-2");
    const alone = { HUNKWISE_EMBEDDING_MODEL: "vectors", HUNKWISE_EMBEDDING_API_KEY: "sk-3" };
    expect(readEnv(alone)).toMatchObject({ model: null, embedding: { apiKey: "sk-3", baseUrl: null } });
  });

  it("Variables set the verifying model, the protocol, the effort and the window", () => {
    const raw = {
      OPENAI_API_KEY: "sk-1",
      HUNKWISE_VERIFY_MODEL: "small",
      HUNKWISE_PROTOCOL: "text",
      HUNKWISE_REASONING_EFFORT: "high",
      HUNKWISE_CONTEXT_TOKENS: "32000",
    };
    expect(readEnv(raw).model).toMatchObject({
      verify: { name: "small", protocol: "text", reasoningEffort: "high", contextTokens: 32_000 },
      protocol: "text",
      reasoningEffort: "high",
      contextTokens: 32_000,
      contextIsConfigured: true,
    });
  });

  const azure = { AZURE_OPENAI_ENDPOINT: "https://corp.openai.azure.com/", AZURE_OPENAI_API_KEY: "az-1" };
  it.each(["", "/openai", "/openai/v1/"])(
    "An Azure endpoint that ends with '%s' leads to the v1 API",
    (end) => {
      const raw = { ...azure, AZURE_OPENAI_ENDPOINT: `https://corp.openai.azure.com${end}` };
      const { model, embedding } = readEnv({
        ...raw,
        HUNKWISE_MODEL: "reviewer",
        OPENAI_API_KEY: "sk-of-openai",
      });
      const baseUrl = "https://corp.openai.azure.com/openai/v1";
      expect(model).toMatchObject({ apiKey: "az-1", baseUrl, name: "reviewer" });
      expect(embedding).toBeNull();
      const vectors = readEnv({ ...raw, HUNKWISE_MODEL: "m", HUNKWISE_EMBEDDING_MODEL: "v" }).embedding;
      expect(vectors).toEqual({ name: "v", apiKey: "az-1", baseUrl });
      expect(failure(raw)).toMatch(/^HUNKWISE_MODEL is missing\. Set it to the deployment/);
    },
  );

  it("An installation has a daily budget only if a variable sets one", () => {
    expect(readEnv({}).dailyBudget).toEqual({ tokens: null, costUsd: null });
    const given = { HUNKWISE_DAILY_TOKENS: "5000000", HUNKWISE_DAILY_COST_USD: "7.50" };
    expect(readEnv(given).dailyBudget).toEqual({ tokens: 5_000_000, costUsd: 7.5 });
  });

  it("Limits of reviews have defaults, and 0 turns all of them off", () => {
    const limits = (given: RawEnv) => readEnv(given).usageLimits;
    expect(limits({})).toEqual({
      commandsAnHour: 60,
      pullReviewsADay: 50,
      authorReviewsADay: 300,
      installationReviewsADay: 1_000,
    });
    const name = "HUNKWISE_INSTALLATION_REVIEWS_PER_DAY";
    expect(limits({ [name]: "2000" })).toMatchObject({
      authorReviewsADay: 300,
      installationReviewsADay: 2_000,
    });
    const none = { pullReviewsADay: 0, authorReviewsADay: 0, installationReviewsADay: 0 };
    expect(limits({ [name]: "0" })).toEqual({ commandsAnHour: 60, ...none });
  });

  it("The window for pushes is read in seconds, down to none", () => {
    expect(readEnv({}).pushWindowMs).toBe(10_000);
    const windowOf = (given: string) => readEnv({ HUNKWISE_PUSH_WINDOW_SECONDS: given }).pushWindowMs;
    // 1.001 seconds are not quite 1001 milliseconds to a processor.
    expect(["0", "0.25", "1.001", "600"].map(windowOf)).toEqual([0, 250, 1_001, 600_000]);
  });

  it("A proxy is read in both spellings", () => {
    expect(readEnv({ https_proxy: "http://u:hidden-one@proxy:3128", NO_PROXY: "a,b" }).proxy).toEqual({
      https: "http://u:hidden-one@proxy:3128",
      http: null,
      no: "a,b",
    });
  });

  it("secretsOf lists keys, secrets and passwords", () => {
    const env = readEnv({ ...app, OPENAI_API_KEY: "sk-1", HTTPS_PROXY: "http://u:hidden-one@proxy:3128" });
    expect(secretsOf(env)).toEqual([pkcs8, app.WEBHOOK_SECRET, "sk-1", "hidden-one"]);
  });

  it("secretsOf lists a password as it is and as the address writes it", () => {
    const env = readEnv({
      DATABASE_URL: "postgres://hunkwise:p%40ss%2Fw0rd@db/hunkwise",
      HTTPS_PROXY: "http://me:100%zz@proxy:3128",
    });
    expect(secretsOf(env)).toEqual(["p%40ss%2Fw0rd", "p@ss/w0rd", "100%zz"]);
  });

  it("A local command ignores variables of the server", () => {
    expect(
      readLocalEnv({
        AZURE_OPENAI_ENDPOINT: "https://a.openai.azure.com/openai/v1",
        AZURE_OPENAI_API_KEY: "k",
        HUNKWISE_MODEL: "m",
      }).model?.name,
    ).toBe("m");
    expect(readLocalEnv({ PORT: "x", DATABASE_URL: "postgres://", OPENAI_API_KEY: "k" }).model?.apiKey).toBe(
      "k",
    );
  });
});

describe("the folder for abilities of models", () => {
  it("Abilities of models are kept in the named data folder or the cache, never in the working directory", () => {
    expect(readLocalEnv({ HUNKWISE_DATA_DIR: "/var/lib/hunkwise" }).modelFolder).toBe("/var/lib/hunkwise");
    for (const raw of [{}, { HUNKWISE_DATA_DIR: " " }]) {
      expect(readLocalEnv(raw).modelFolder).toBe(join(homedir(), ".cache", "hunkwise"));
    }
  });
});

describe("the private key", () => {
  it.each([
    ["PKCS #8", pkcs8],
    ["PKCS #1, as GitHub gives it out", pkcs1],
    ["with written-out line breaks", pkcs1.replaceAll("\n", "\\n")],
    ["in quotes", `"${pkcs1.trim().replaceAll("\n", "\\n")}"`],
    ["with Windows line ends", pkcs1.replaceAll("\n", "\r\n")],
    ["in base64", Buffer.from(pkcs1).toString("base64")],
  ])("A private key is accepted as %s", (_, text) =>
    expect(readEnv({ ...app, PRIVATE_KEY: text }).app?.privateKey).toBe(pkcs8),
  );

  it("A private key is read from a file", () => {
    const raw = { ...app, PRIVATE_KEY: undefined, PRIVATE_KEY_PATH: file("key.pem", pkcs1) };
    expect(readEnv(raw).app?.privateKey).toBe(pkcs8);
  });
});

describe("the receiver of events", () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const at = (url: string) => ({ HUNKWISE_EVENTS_URL: url, HUNKWISE_EVENTS_SECRET: secret });

  it.each([
    "https://events.example.com/hunkwise?team=a",
    "http://localhost:9000",
    "http://10.0.0.7/in",
    "http://collector:8080/",
    "http://events.internal",
  ])("The receiver of events may be %s", (url) => {
    const { events, ...env } = readEnv(at(url));
    expect(events).toEqual({ url, secret });
    expect(secretsOf({ ...env, events })).toContain(secret);
  });

  it("There is no receiver of events without variables", () => expect(readEnv({}).events).toBeNull());

  it.each<[string, RawEnv, RegExp]>([
    ["an address without TLS", at("http://events.example.com/a-secret-path"), /_URL must be an https URL/],
    ["a password in the address", at("https://me:pass@events.example.com"), /_URL must be/],
    ["another protocol", at("file:///etc/passwd"), /_URL must be/],
    [
      "no secret",
      { ...at("https://events.example.com"), HUNKWISE_EVENTS_SECRET: "" },
      /_SECRET is missing\. Set it to a secret that/,
    ],
    ["no address", { HUNKWISE_EVENTS_SECRET: secret }, /_URL is missing/],
    [
      "a secret of another form",
      { ...at("https://events.example.com"), HUNKWISE_EVENTS_SECRET: "my-secret-word" },
      /must be whsec_/,
    ],
    [
      "a short secret",
      { ...at("https://events.example.com"), HUNKWISE_EVENTS_SECRET: "whsec_c2hvcnQ=" },
      /must be whsec_/,
    ],
  ])("A receiver of events with %s is refused", (_, raw, why) => {
    const said = failure(raw);
    expect(said).toMatch(why);
    expect(said).not.toMatch(/a-secret-path|pass@|my-secret-word|c2hvcnQ/);
  });
});

describe("errors of the environment", () => {
  const without = (name: string) => ({ ...app, [name]: undefined });
  it.each<[string, RawEnv, RegExp]>([
    ["no secret", without("WEBHOOK_SECRET"), /^WEBHOOK_SECRET is missing\. Set it to the webhook secret/],
    [
      "an App id alone",
      { APP_ID: "1" },
      /^PRIVATE_KEY is missing\. Set it, .* WEBHOOK_SECRET is missing\. Set it to the webhook secret/,
    ],
    [
      "no webhook secret and a wrong key",
      { APP_ID: "1", PRIVATE_KEY: "hello" },
      /^PRIVATE_KEY is not a private key .* WEBHOOK_SECRET is missing/,
    ],
    [
      "a guessable one",
      { ...app, WEBHOOK_SECRET: "development" },
      /"development", which anyone can guess\. Set another/,
    ],
    ["no App id", without("APP_ID"), /^APP_ID is missing\. Copy it from/],
    ["no key", without("PRIVATE_KEY"), /^PRIVATE_KEY is missing\. Set it, or set PRIVATE_KEY_PATH/],
    ["a named App id", { ...app, APP_ID: "my-app" }, /^APP_ID must be a whole number .*, not "my-app"\./],
    ["App id 0", { ...app, APP_ID: "0" }, /^APP_ID must be a whole number/],
    [
      "no key",
      { ...app, PRIVATE_KEY: "hello" },
      /^PRIVATE_KEY is not a private key in PEM format\. Download/,
    ],
    ["a cut key", { ...app, PRIVATE_KEY: pkcs8.slice(0, 400) }, /^The private key in PRIVATE_KEY is damaged/],
    ["a locked key", { ...app, PRIVATE_KEY: locked }, /is protected by a passphrase\. Download/],
    ["an EC key", { ...app, PRIVATE_KEY: elliptic }, /is of type ec, but GitHub uses RSA\. Download/],
    [
      "a public key",
      { ...app, PRIVATE_KEY: publicKey.export({ type: "spki", format: "pem" }).toString() },
      /is not a private key/,
    ],
    [
      "a key file that is not there",
      { ...app, PRIVATE_KEY: "", PRIVATE_KEY_PATH: "/nowhere/key.pem" },
      /^PRIVATE_KEY_PATH cannot be read: ENOENT.*\/nowhere\/key\.pem.*\. Set it to the PEM file/,
    ],
    [
      "a key file that holds something else",
      { ...app, PRIVATE_KEY: "", PRIVATE_KEY_PATH: file("other.txt", "nothing") },
      /^PRIVATE_KEY_PATH \(.*other\.txt\) is not a private key/,
    ],
    ["a bad port", { PORT: "http" }, /^PORT must be a whole number from 0 to 65535, not "http"\. Correct it/],
    ["a port too high", { PORT: "70000" }, /^PORT must be/],
    ["a path without slash", { WEBHOOK_PATH: "hooks" }, /^WEBHOOK_PATH must be a path that begins with \//],
    ["used paths", { WEBHOOK_PATH: "/healthz" }, /^WEBHOOK_PATH must be a path that the server does not use/],
    ["a log level", { LOG_LEVEL: "loud" }, /^LOG_LEVEL must be one of trace, debug/],
    ["a full host", { GHE_HOST: "https://git.corp" }, /^GHE_HOST must be a host name .* without https:\/\//],
    [
      "another protocol",
      { HUNKWISE_PROTOCOL: "json" },
      /^HUNKWISE_PROTOCOL must be one of auto, native, text, not "json"/,
    ],
    [
      "a context window that no review fits into",
      { OPENAI_API_KEY: "k", HUNKWISE_CONTEXT_TOKENS: "8000" },
      /^HUNKWISE_CONTEXT_TOKENS is 8000, but a review needs at least 16000\. Use a model with a larger window/,
    ],
    ["a protocol", { GHE_PROTOCOL: "git" }, /^GHE_PROTOCOL must be one of https, http/],
    [
      "no model",
      { OPENAI_BASE_URL: "http://localhost/v1" },
      /^HUNKWISE_MODEL is missing\. Set it to a model/,
    ],
    [
      "a base URL that is none",
      { OPENAI_BASE_URL: "localhost:11434", HUNKWISE_MODEL: "m" },
      /^OPENAI_BASE_URL must be an http/,
    ],
    [
      "a key with other letters",
      { OPENAI_API_KEY: "sk-ключ" },
      /^OPENAI_API_KEY contains characters that are not allowed in a key\. /,
    ],
    ["a key with a line break", { OPENAI_API_KEY: "sk-1\nsk-2" }, /^OPENAI_API_KEY must be only the key/],
    [
      "another kind of database",
      { DATABASE_URL: "mysql://u:p@h/d" },
      /^DATABASE_URL must be an address such as postgres:/,
    ],
    ["a zero budget", { HUNKWISE_DAILY_TOKENS: "0" }, /^HUNKWISE_DAILY_TOKENS must be a whole number/],
    [
      "a free budget",
      { HUNKWISE_DAILY_COST_USD: "0.00" },
      /^HUNKWISE_DAILY_COST_USD must be an amount in US dollars above 0/,
    ],
    [
      "a budget in another currency",
      { HUNKWISE_DAILY_COST_USD: "5 EUR" },
      /^HUNKWISE_DAILY_COST_USD must be an amount in US dollars/,
    ],
    [
      "no workers",
      { HUNKWISE_CONCURRENCY: "0" },
      /^HUNKWISE_CONCURRENCY must be a whole number from 1 to 64/,
    ],
    ...["-1", "601", "600.5", "10s", "1e2", "9".repeat(400)].map((given): [string, RawEnv, RegExp] => [
      `a window for pushes of ${given.slice(0, 10)}`,
      { HUNKWISE_PUSH_WINDOW_SECONDS: given },
      /^HUNKWISE_PUSH_WINDOW_SECONDS must be a number of seconds from 0 to 600, not "/,
    ]),
    ["a proxy without scheme", { HTTPS_PROXY: "proxy:3128" }, /^HTTPS_PROXY must be a URL such as/],
    ["a CA file that is gone", { NODE_EXTRA_CA_CERTS: "/nowhere" }, /^NODE_EXTRA_CA_CERTS must be a file/],
    [
      "an endpoint for vectors without a model",
      { HUNKWISE_EMBEDDING_BASE_URL: "http://localhost:1/v1" },
      /^HUNKWISE_EMBEDDING_MODEL is missing/,
    ],
    [
      "a model for vectors without an endpoint",
      { HUNKWISE_EMBEDDING_MODEL: "vectors" },
      /^HUNKWISE_EMBEDDING_API_KEY is missing/,
    ],
    ["a price file that is not there", { HUNKWISE_PRICES: "/nowhere" }, /^HUNKWISE_PRICES must be a file/],
  ])("The error for %s is one line with its remedy", (_, raw, expected) => {
    const line = failure(raw);
    expect(line).toMatch(expected);
    expect(line).not.toContain("\n");
  });

  it("No error of the environment quotes a secret", () => {
    const secrets = {
      OPENAI_API_KEY: "sk-hidden value",
      HUNKWISE_FALLBACK_API_KEY: "sk-hidden value",
      HUNKWISE_VERIFY_API_KEY: "sk-hidden value",
      HUNKWISE_EMBEDDING_API_KEY: "sk-hidden value",
      PRIVATE_KEY: "hidden",
      DATABASE_URL: "mysql://u:hidden@h/d",
    };
    for (const [name, value] of Object.entries(secrets))
      expect(failure({ ...app, [name]: value })).not.toContain("hidden");
  });
});

describe("the App that the setup page stored", () => {
  const stored = {
    app_id: 5,
    private_key: pkcs1,
    webhook_secret: "from-the-page",
    html_url: "https://github.com/apps/x",
  };

  it("The stored App counts for a server only, and its file is private to its user", () => {
    const dataDir = join(folder, "data");
    storeApp(dataDir, stored);
    expect((statSync(join(dataDir, "app.json")).mode & 0o777).toString(8)).toBe("600");
    expect(readServerEnv({ HUNKWISE_DATA_DIR: dataDir }).app).toMatchObject({
      id: 5,
      webhookSecret: "from-the-page",
    });
    expect(readEnv({ HUNKWISE_DATA_DIR: dataDir }).app).toBeNull();
  });

  it("An App of the environment takes precedence over the stored one", () => {
    const dataDir = join(folder, "other");
    expect(readServerEnv({ HUNKWISE_DATA_DIR: dataDir }).app).toBeNull();
    storeApp(dataDir, stored);
    expect(readServerEnv({ ...app, HUNKWISE_DATA_DIR: dataDir }).app?.id).toBe(12);
  });

  it("A damaged file of the App is refused without quoting it", () => {
    const dataDir = join(folder, "damaged");
    storeApp(dataDir, stored);
    writeFileSync(join(dataDir, "app.json"), '{"private_key":"hidden');
    const read = () => readServerEnv({ HUNKWISE_DATA_DIR: dataDir });
    expect(read).toThrow(/app\.json does not contain the App's credentials$/);
    expect(read).not.toThrow(/hidden/);
  });
});

describe("the model of one run", () => {
  const modelOf = (raw: RawEnv, name?: string) => {
    const { model } = readLocalEnv(withModel(raw, name));
    return model && [model.name, model.verify?.name ?? null];
  };
  const server = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };

  it("The model of one run replaces the configured one", () => {
    expect(modelOf({ ...server, HUNKWISE_MODEL: "a" })).toEqual(["a", null]);
    expect(modelOf({ ...server, HUNKWISE_MODEL: "a" }, "b")).toEqual(["b", null]);
    expect(modelOf(server, "b")).toEqual(["b", null]);
    expect(modelOf({}, "b")).toBeNull();
  });

  it("The model of one run leaves HUNKWISE_VERIFY_MODEL as it is", () => {
    expect(modelOf({ ...server, HUNKWISE_VERIFY_MODEL: "v" }, "b")).toEqual(["b", "v"]);
  });
});

describe("the target branch that a CI system names", () => {
  it("The target branch is that of GitHub Actions or GitLab CI, and null outside of a pull request", () => {
    expect(ciTargetBranch({ GITHUB_BASE_REF: "release/2.x" })).toEqual({
      variable: "GITHUB_BASE_REF",
      branch: "release/2.x",
    });
    expect(ciTargetBranch({ GITHUB_BASE_REF: "", CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "trünk" })).toEqual({
      variable: "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
      branch: "trünk",
    });
    expect(ciTargetBranch({ GITHUB_BASE_REF: " " })).toBeNull();
    expect(ciTargetBranch({})).toBeNull();
  });

  it.each<[string, RawEnv, string | null]>([
    ["Bitbucket", { BITBUCKET_PR_DESTINATION_BRANCH: "develop" }, "develop"],
    ["Azure", { SYSTEM_PULLREQUEST_TARGETBRANCH: "refs/heads/release/2" }, "release/2"],
    ["Azure with GitHub", { SYSTEM_PULLREQUEST_TARGETBRANCH: "main" }, "main"],
    ["Jenkins", { CHANGE_ID: "7", CHANGE_TARGET: "main" }, "main"],
    ["Jenkins on a branch", { CHANGE_TARGET: "main" }, null],
    ["Buildkite", { BUILDKITE_PULL_REQUEST: "7", BUILDKITE_PULL_REQUEST_BASE_BRANCH: "main" }, "main"],
    [
      "Buildkite on branch",
      { BUILDKITE_PULL_REQUEST: "false", BUILDKITE_PULL_REQUEST_BASE_BRANCH: "" },
      null,
    ],
    ["Drone", { DRONE_PULL_REQUEST: "7", DRONE_TARGET_BRANCH: "main" }, "main"],
    ["Drone after a push", { DRONE_TARGET_BRANCH: "topic" }, null],
    ["Woodpecker", { CI_COMMIT_PULL_REQUEST: "7", CI_COMMIT_TARGET_BRANCH: "main" }, "main"],
    ["Woodpecker after a push", { CI_COMMIT_PULL_REQUEST: "", CI_COMMIT_TARGET_BRANCH: "topic" }, null],
    ["Travis", { TRAVIS_PULL_REQUEST: "7", TRAVIS_BRANCH: "main" }, "main"],
    ["Travis after a push", { TRAVIS_PULL_REQUEST: "false", TRAVIS_BRANCH: "topic" }, null],
    ["AppVeyor", { APPVEYOR_PULL_REQUEST_NUMBER: "7", APPVEYOR_REPO_BRANCH: "main" }, "main"],
    ["AppVeyor after a push", { APPVEYOR_REPO_BRANCH: "topic" }, null],
  ])("The target branch is read from %s", (_, raw, branch) => {
    expect(ciTargetBranch(raw)?.branch ?? null).toBe(branch);
  });

  it("A refused target branch is quoted as it was written", () => {
    expect(() => ciTargetBranch({ SYSTEM_PULLREQUEST_TARGETBRANCH: "refs/heads/--x" })).toThrow(
      /^SYSTEM_PULLREQUEST_TARGETBRANCH is 'refs\/heads\/--x', which is not/,
    );
    expect(ciTargetBranch({ GITHUB_BASE_REF: "refs/heads/main" })?.branch).toBe("refs/heads/main");
  });

  it.each([
    ...["--upload-pack=x", "a..b", "main~1", "main^{/x}", "a b", "a@{1}", "a:b", "/x", "x/", ".x", "x/.y"],
    ...["a\nb", "a\u202eb", "x.", "a\\b", "a*", "a".repeat(300)],
  ])("A target branch with an invalid name is refused: %j", (name) => {
    expect(() => ciTargetBranch({ GITHUB_BASE_REF: name })).toThrow(
      /^GITHUB_BASE_REF is '.*not a valid branch name/s,
    );
  });
});

it("givenColumns accepts only a usable width", () => {
  const given = ["120", "20", "19", "0", "", " ", "wide", "1e9.5", "-80"].map((COLUMNS) =>
    givenColumns({ COLUMNS }),
  );
  expect(given).toEqual([120, 20, null, null, null, null, null, null, null]);
  expect(givenColumns({})).toBeNull();
});
