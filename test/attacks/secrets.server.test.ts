import { describe, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { registerSecret } from "../../src/core/secrets/live-secrets.ts";
import { finding, numbers, turn } from "../e2e/conformance-fixture.ts";
import { startSharedApp } from "../e2e/shared-app.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { modelKey } from "../support/app-under-test.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";
import { type Canary, createNet } from "./canaries.ts";
import { leaksIn, logged, sentBy, writtenBy } from "./searched.ts";
import { recordTraffic } from "./traffic.ts";

/** So different that no finding counts as a duplicate of another, whatever text follows. */
const faults = ["Everybody signs", "Somebody else pays", "Two locks open", "Guests stay too long"];

const random = seeded(17);
const reversed = (text: string) => [...text].reverse().join("");

/** Encodings in which a model can write a secret. */
const encodings: ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => Buffer.from(secret).toString("base64"),
  (secret) => Buffer.from(`x${secret}`).toString("base64url"),
  (secret) => Buffer.from(secret).toString("hex"),
  (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  encodeURIComponent,
  reversed,
  (secret) => [...secret].join(" "),
  (secret) => [...secret].join("\n"),
  (secret) => [...secret].join("\u200b"),
];

describe("a model that writes secrets", () => {
  it("secret-in-output: The server's keys and tokens reach no body, log line or check run in any of ten spellings", async () => {
    const lines = [10, 20, 30, 40];
    const changed = Object.fromEntries(lines.map((line) => [line, `const n${line} = 0;`]));
    const knownSecrets = (): Canary[] => {
      const { webhookSecret, env, github } = shared.app;
      const [token = ""] = github.state.tokens.keys();
      // For the key, some lines of its private exponent: the lines before it are similar in all keys.
      const key = env.PRIVATE_KEY.replaceAll("\\n", "\n").split("\n").slice(8, 11).join("\n");
      return [
        { name: "the webhook secret", value: webhookSecret },
        { name: "the model's key", value: modelKey },
        { name: "the App's key", value: key },
        { name: "a token", value: token.slice(4) },
      ];
    };
    const confess = () => {
      const reports = knownSecrets().map(({ value, name }, index) => {
        const line = lines[index] ?? 0;
        const body = `${faults[index]}. ${name}:\n\n${encodings.map((encode) => encode(value)).join("\n\n")}`;
        return finding({ line, quote: changed[line] ?? "", title: `${faults[index]}: ${value}`, body });
      });
      return turn(...reports, {
        name: "finish_review",
        arguments: { summary: `${knownSecrets()[3]?.value}` },
      });
    };
    await using shared = await startSharedApp({
      everyRole: withAgreeingSceptic(confess).script,
      env: { LOG_LEVEL: "trace" },
    });
    const { app } = shared;
    const of = shared.addRepository({ "src/numbers.js": numbers(60) });
    const pull = of.open({ "src/numbers.js": numbers(60, changed) });
    using traffic = recordTraffic();
    await pull.deliver("opened");
    await pull.concluded();

    const written = writtenBy(app.app, of.repository);
    const marked = written.filter(({ text }) => text.includes("[secret]"));
    expect(marked.length).toBeGreaterThanOrEqual(lines.length);
    const tokens = [...app.github.state.tokens.keys()].map((token) => ({
      name: "a token",
      value: token.slice(4),
    }));
    const net = createNet([...knownSecrets(), ...tokens]);
    const toGitHub = traffic.arrived.filter(({ url }) => !url.includes("/chat/completions"));
    expect(leaksIn(written, net)).toEqual([]);
    expect(leaksIn(sentBy(toGitHub), net)).toEqual([]);
    expect(leaksIn(logged(app.server.log()), net)).toEqual([]);
  });
});

describe("a line of the log", () => {
  it("log-injection: Line ends, escape sequences and secrets in a title leave one line of JSON without them", () => {
    const live = writeOut("{hex:40}", random);
    const foreign = writeOut("ghp_{base62:36}", random);
    registerSecret(live);
    const lines: string[] = [];
    const log = createLogger("info", { write: (line) => void lines.push(line) });
    const title = `x"}\n{"level":"error","message":"forged ${live}\r\u001b[2J\u001b[31m${foreign}\u2028\u202e\u0000`;

    log.info({ title }, `Title: ${title}`);
    log.error({ err: new Error(`${title} ${[...live].join("\n")}`) }, "Failed");

    expect(lines).toHaveLength(2);
    for (const line of lines) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u202e]*\n$/);
      expect(JSON.parse(line).message).toMatch(/^(Title|Failed)/);
    }
    const net = createNet([
      { name: "ours", value: live },
      { name: "theirs", value: foreign.slice(4) },
    ]);
    expect(net.find(lines.join(""))).toEqual([]);
  });
});
