import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeOpenAi, startFakeOpenAi } from "../support/fake-openai.ts";
import { createNet, makeCanary, spellings } from "./canaries.ts";
import { recordTraffic } from "./traffic.ts";

// If the net found nothing, every other test in this folder would pass.

const canary = makeCanary("the key");
const net = createNet([canary, makeCanary("another")]);
const { value } = canary;
const caught = (text: string) => [...new Set(net.find(text).map(({ name }) => name))];

const base64 = (text: string) => Buffer.from(text).toString("base64");
const joined = (separator: string) => [...value].join(separator);

describe("the search for canaries", () => {
  it.each([
    ["as it is", value],
    ["eight characters of it", value.slice(11, 19)],
    ["reversed", [...value].reverse().join("")],
    ["in base64", base64(value)],
    ["in base64 behind one byte", base64(`K${value}.`)],
    ["in base64 behind two bytes", base64(`K=${value}.`)],
    ["in base64 for URLs", Buffer.from(`?>${value}?>`).toString("base64url")],
    ["a part of it in base64", base64(`xy${value.slice(4, 16)}`)],
    ["in base64 twice over lines of 10 characters", base64(value).replace(/.{10}/g, "$&\n")],
    ["in hex", Buffer.from(value).toString("hex")],
    ["in upper-case hex", Buffer.from(value).toString("hex").toUpperCase()],
    ["in hex with colons", Buffer.from(value).toString("hex").replace(/../g, "$&:")],
    ["percent-encoded", Buffer.from(value).toString("hex").replace(/../g, "%$&")],
    ["split by blanks", joined(" ")],
    ["one character a line", joined("\n")],
    ["one character a line, printed as JSON", JSON.stringify(joined("\n"))],
    ["one character an entry", JSON.stringify([...value])],
    ["split by invisible characters", joined("\u200b")],
    ["split by invisible characters that were escaped", joined("\\u{200B}")],
    ["split by entities", joined("&nbsp;")],
    ["in the middle of a word", `x${value}x`],
    ["without its first and last seven characters", value.slice(7, -7)],
  ])("The search catches a canary %s", (_, text) =>
    expect(caught(`before ${text} after`)).toEqual(["the key"]),
  );

  it("The search reports each spelling separately", () => {
    for (const { form, spell } of spellings) {
      const forms = net.find(spell(value)).map((one) => one.form);
      expect(forms).toContain(form);
    }
  });

  it("The search ignores seven characters, another value and a megabyte of object names", () => {
    const names = Array.from({ length: 20_000 }, () => makeCanary("").value).join(" ");
    const digits = Buffer.from(names).toString("hex");
    for (const text of ["", value.slice(0, 7), makeCanary("else").value, names, digits])
      expect(net.find(text)).toEqual([]);
  });
});

describe("the record of requests", () => {
  let endpoint: FakeOpenAi;
  beforeAll(async () => {
    endpoint = await startFakeOpenAi({ script: [{ content: "Hello" }] });
  });
  afterAll(() => endpoint.close());

  it("The record holds address, headers and body of a request, and its server can still read them", async () => {
    using traffic = recordTraffic();
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: value }] });
    const headers = { authorization: "Bearer test-key", "x-odd": "here" };
    const status = await new Promise((done, fail) =>
      request(`${endpoint.url}/chat/completions?a=b`, { method: "POST", headers }, (answer) =>
        done(answer.resume().statusCode),
      )
        .on("error", fail)
        .end(body),
    );

    expect(status).toBe(404);
    const [seen] = traffic.arrived;
    expect(seen).toMatchObject({ method: "POST", url: "/v1/chat/completions?a=b" });
    expect(seen?.authorization).toBe("Bearer test-key");
    expect(seen?.headers).toEqual(expect.arrayContaining(["x-odd", "here"]));
    expect(seen?.body()).toBe(body);
  });
});
