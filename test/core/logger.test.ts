import { describe, expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { createLogger, type LogLevel } from "../../src/core/logger.ts";
import { registerSecret } from "../../src/core/secrets/live-secrets.ts";
import { withoutSecrets } from "../../src/core/secrets/redact.ts";

function book(level: LogLevel = "info") {
  const lines: string[] = [];
  return { lines, log: createLogger(level, { write: (line) => void lines.push(line) }) };
}

describe("a log line", () => {
  it("A log line is one line of JSON with level, time, message and the fields of its child", () => {
    const { log, lines } = book();
    log.child({ delivery: "d", repo: "o/r", pull: 3, head: "abc", job: "j" }).info({ more: 1 }, "Started");
    expect(JSON.parse(lines[0]!)).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      message: "Started",
      ...{ delivery: "d", repo: "o/r", pull: 3, head: "abc", job: "j", more: 1 },
    });
  });

  it("A log line stays one line without control characters whatever the text", () => {
    const { log, lines } = book();
    const hostile = 'a\nb\r\u001b[2J\u009b31m\u2028\u202e\u200b"{}\u007f';
    log.info({ title: hostile }, `Title: ${hostile}`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(lines.join("")).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u202e\u200b]*\n$/);
    expect(JSON.parse(lines[0]!).title).toBe(hostile);
  });

  it("A log line is left out below the level", () => {
    const { log, lines } = book("warn");
    log.info("no");
    expect(lines).toEqual([]);
  });
});

describe("a secret", () => {
  it("A secret that was registered shows in no form: raw, JSON, URL-encoded", () => {
    const secret = 'p"ss/wörd+line\nbreak';
    registerSecret(secret);
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const forms = [
      secret,
      encodeURIComponent(secret),
      base64(secret),
      ...["", "x", "xy", "x-access-token:"].map((before) => base64(`${before}${secret}rest`)),
    ];
    const { log, lines } = book();
    for (const form of forms) log.info({ form }, `It is ${form}!`);
    for (const [index, line] of lines.entries()) {
      const core = forms[index]!.slice(5, -8);
      expect(line.includes(core) || line.includes(JSON.stringify(core).slice(1, -1)), line).toBe(false);
      expect(JSON.parse(line)).toMatchObject({ level: "info" });
    }
  });

  it("An unregistered secret is known by its form", () => {
    const token = `ghs_12345_${"eyJhbGciOi.".repeat(3)}x-y`;
    const pem = `-----BEGIN RSA PRIVATE KEY-----\nMIIE${"abc+/".repeat(9)}\nabc+/=\n-----END RSA PRIVATE KEY-----`;
    const { log, lines } = book();
    log.info({ header: `Bearer ${token}`, pem }, `key sk-proj-${"a1".repeat(20)}`);
    expect(lines[0]).not.toMatch(/eyJ|MIIE|a1a1/);
    expect(JSON.parse(lines[0]!).pem).toBe("[secret]");
  });

  it("A secret is dropped by the name of its field", () => {
    const { log, lines } = book();
    log.info(
      {
        token: "plain-1",
        request: { headers: { authorization: "plain-2" } },
        app: { privateKey: "plain-3" },
      },
      "x",
    );
    expect(lines[0]).not.toMatch(/plain-/);
  });

  it("A secret that is too short to be one is not registered, so that words stay words", () => {
    registerSecret("the");
    expect(withoutSecrets("the cat")).toBe("the cat");
  });

  it("A secret stays known however many tokens come after it", () => {
    registerSecret("permanent-secret-value", { keep: true });
    for (let n = 0; n < 500; n++) registerSecret(`short-lived-token-${n}`);
    expect(withoutSecrets("permanent-secret-value short-lived-token-499")).toBe("[secret] [secret]");
  });
});

describe("an error", () => {
  it("An error is logged by what is known to be harmless, its request and its command are not", () => {
    const error = Object.assign(
      new AppError("github_failed", "No answer", { cause: new Error("ECONNRESET") }),
      {
        request: { headers: { "x-key": "hidden-1" } },
        task: { commands: ["hidden-2"] },
      },
    );
    const { log, lines } = book();
    log.error({ err: error }, "Failed");
    expect(JSON.parse(lines[0]!).err).toMatchObject({
      type: "AppError",
      code: "github_failed",
      message: "No answer",
      cause: "ECONNRESET",
      stack: expect.any(String),
    });
    expect(lines[0]).not.toMatch(/hidden-/);
  });

  it("The first errors of an AggregateError are logged, and a thrown text as it is", () => {
    const { log, lines } = book();
    log.error({ err: new AggregateError([new Error("one"), new Error("two")], "both") }, "Failed");
    log.error({ err: "just text" }, "Failed");
    expect(JSON.parse(lines[0]!).err.errors.map((one: Error) => one.message)).toEqual(["one", "two"]);
    expect(JSON.parse(lines[1]!).err).toBe("just text");
  });
});
