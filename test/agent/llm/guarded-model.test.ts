import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import {
  CircuitBreaker,
  createModelGuard,
  judgeEndpoint,
  judgeModel,
} from "../../../src/agent/llm/guarded-model.ts";
import {
  EndpointUnreachable,
  type Message,
  type ModelRequest,
  type ModelTurn,
  ModelUnavailable,
} from "../../../src/agent/llm/model.ts";
import { AppError } from "../../../src/core/errors.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

const never = new AbortController().signal;
const ask = { messages: [], tools: [], maxOutputTokens: 1 };
const overloaded = new AppError("model_failed", "503", { retryable: true });
const gone = new EndpointUnreachable("model_failed", "ECONNREFUSED", { retryable: true });

function setUp() {
  const warnings: string[] = [];
  const ends: string[] = [];
  const { guard } = createModelGuard({
    ...{ now: () => 0, random: () => 1, warn: (text: string) => warnings.push(text) },
    onRequest: (name, end) => ends.push("failed" in end ? `${name} ${end.failed}` : name),
  });
  const at = (url: string | null, name: string, ...turns: (ScriptedTurn | Error)[]) =>
    guard(scriptedModel([...turns, ...Array(9).fill({ content: "ok" })], { name }), url, name);
  return { at, guard, ends, warnings };
}

const codes = async (...models: ReturnType<ReturnType<typeof setUp>["at"]>[]) => {
  const ends: string[] = [];
  for (const model of models)
    ends.push(
      await model.respond(ask, never).then(
        () => "ok",
        (error: AppError) => error.code,
      ),
    );
  return ends;
};

describe("the circuits of a process", () => {
  it("An overloaded model is left alone while others of its endpoint are asked", async () => {
    const { at, ends, warnings } = setUp();
    const big = at("https://host/v1", "big", overloaded, overloaded, overloaded);
    const small = at("https://host/v1", "small");
    expect(await codes(big, big, big, big, small)).toEqual([
      ...["model_failed", "model_failed", "model_unavailable", "model_unavailable"],
      "ok",
    ]);
    expect(warnings).toEqual([expect.stringMatching(/^The model "big" at host is paused for 15 s/)]);
    expect(ends.slice(2)).toEqual(["big model_unavailable", "big model_unavailable", "small"]);
  });

  it("An endpoint that is gone is left alone for all of its models", async () => {
    const { at, warnings } = setUp();
    const big = at("https://host/secret/v1", "big", gone, gone);
    const small = at("https://host/secret/v1", "small", gone);
    expect(await codes(big, small, big, small, big, at(null, "big"))).toEqual([
      ...["model_failed", "model_failed", "model_unavailable", "model_unavailable", "model_unavailable"],
      "ok",
    ]);
    expect(warnings).toEqual([expect.stringMatching(/^The model endpoint at host is paused for 15 s/)]);
  });
});

const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null };
const thinking = { reasoning_content: "signed and sealed" };
const signature = { extra_content: { google: { thought_signature: "abc" } } };

/** A model whose turns carry extras; it keeps what it was sent. */
function thinker(key: string, { guard } = setUp()) {
  const requests: ModelRequest[] = [];
  const turn: ModelTurn = {
    content: key,
    toolCalls: [{ id: `call_${key}`, name: "look", arguments: "{}", extras: signature }],
    finishReason: "tool_calls",
    usage,
    extras: thinking,
  };
  const model = guard(
    {
      ...{ name: key, contextTokens: 1_000, protocol: "native" },
      async respond(request) {
        requests.push(request);
        return turn;
      },
    },
    null,
    key,
  );
  return { model, requests };
}

const asking = (messages: Message[]) => ({ messages, tools: [], maxOutputTokens: 10 });
const said = ({ content, toolCalls, extras }: ModelTurn): Message => ({
  ...{ role: "assistant", content, toolCalls },
  ...(extras ? { extras } : {}),
});

describe("extras of a provider", () => {
  it("Extras go back to the model that gave them and to no other", async () => {
    const [one, other] = [thinker("one"), thinker("other")];
    const first = await one.model.respond(asking([]), never);
    const second = await other.model.respond(asking([said(first)]), never);
    // As a record of the conversation gives it back.
    const replayed = JSON.parse(JSON.stringify([said(first), said(second)])) as Message[];
    await one.model.respond(asking(replayed), never);

    expect(JSON.stringify(other.requests[0])).not.toMatch(/sealed|abc/);
    const [own, foreign] = one.requests[1]?.messages ?? [];
    expect(own).toMatchObject({ extras: thinking, toolCalls: [{ id: "call_one", extras: signature }] });
    expect(JSON.stringify(foreign)).not.toMatch(/sealed|abc/);
    expect(foreign).toMatchObject({ content: "other", toolCalls: [{ arguments: "{}" }] });
  });

  it("A model gets its own ids of calls and short ids for another one's", async () => {
    const [one, other] = [thinker("one"), thinker("other")];
    const first = said(await one.model.respond(asking([]), never));
    const answered: Message[] = [first, { role: "tool", callId: "call_one", content: "seen" }];
    const second = said(await other.model.respond(asking(answered), never));
    const idsIn = (messages: readonly Message[] = []) =>
      messages.flatMap((message) =>
        message.role === "tool"
          ? [message.callId]
          : message.role === "assistant"
            ? message.toolCalls.map(({ id }) => id)
            : [],
      );
    const [call, answer] = idsIn(other.requests[0]?.messages);
    expect(call).toMatch(/^[a-z0-9]{9}$/);
    expect(answer).toBe(call);
    const replayed = JSON.parse(JSON.stringify([...answered, second])) as Message[];
    for (const { model } of [one, other]) await model.respond(asking(replayed), never);
    expect(idsIn(one.requests[1]?.messages)).toEqual([
      "call_one",
      "call_one",
      expect.stringMatching(/^[a-z0-9]{9}$/),
    ]);
    expect(idsIn(other.requests[1]?.messages)).toEqual([call, call, "call_other"]);
    // Two providers may count in the same way.
    const twin = thinker("one", setUp());
    const again = await twin.model.respond(
      asking([{ ...first, extras: { of: "else", given: {} } } as Message]),
      never,
    );
    expect(again.toolCalls[0]?.id).not.toBe("call_one");
  });

  it("Extras of a record without names go to no model", async () => {
    const { model, requests } = thinker("one");
    await model.respond(asking([{ role: "assistant", content: "", toolCalls: [], extras: thinking }]), never);
    expect(JSON.stringify(requests)).not.toContain("sealed");
  });
});

const down = new AppError("model_failed", "it answered 503", { retryable: true });
const limited = (retryAfterMs: number) =>
  new AppError("model_rate_limited", "429", { retryable: true, retryAfterMs });
const refused = new AppError("model_unauthorized", "key refused");
const aborted = new AppError("aborted", "aborted");
const unreachable = new EndpointUnreachable("model_failed", "ECONNREFUSED", { retryable: true });

/** A circuit, and requests whose end is in the hand of the test. */
class Bench {
  now = 0;
  sent = 0;
  readonly warnings: string[] = [];
  readonly circuit: CircuitBreaker;

  constructor(judge = judgeModel, random = () => 1) {
    const warn = (text: string) => this.warnings.push(text);
    this.circuit = new CircuitBreaker({ name: "big", judge, now: () => this.now, random, warn });
  }

  begin() {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const before = this.sent;
    const ended = this.circuit
      .run(() => {
        this.sent += 1;
        return promise;
      })
      .catch((error: unknown) => error);
    const isSent = this.sent > before;
    return {
      ended,
      isSent,
      end: (fault?: Error) => {
        if (fault) reject(fault);
        else resolve("ok");
        return ended;
      },
    };
  }

  request = (fault?: Error) => this.begin().end(fault);
}

describe("a circuit", () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });

  it("A circuit opens after three outages in a row", async () => {
    expect(await bench.request(down)).toBe(down);
    expect(await bench.request(down)).toBe(down);
    expect(await bench.request(down)).toMatchObject({ code: "model_unavailable", cause: down });
    bench.now = 5_000;

    const fault = await bench.request();
    expect(bench.sent).toBe(3);
    expect(fault).toMatchObject({ code: "model_unavailable", retryable: true, retryAfterMs: 10_000 });
    expect(bench.warnings).toEqual([expect.stringMatching(/^big is paused for 15 s: it answered 503/)]);
  });

  it("A circuit stays closed where an answer lies in between", async () => {
    for (const fault of [down, down, undefined, down, down, refused, down, down]) await bench.request(fault);
    expect(await bench.request()).toBe("ok");
  });

  it("A circuit lets one request through when its time is over, whose success closes it", async () => {
    for (let n = 0; n < 3; n++) await bench.request(down);
    bench.now = 15_000;
    const first = bench.begin();
    expect(await bench.request()).toBeInstanceOf(ModelUnavailable);
    expect(await first.end()).toBe("ok");
    expect(await bench.request()).toBe("ok");
    expect(bench.warnings.at(-1)).toBe("big answers again");
  });

  it("A second trial follows while the first hangs, and the first result decides", async () => {
    for (let n = 0; n < 3; n++) await bench.request(down);
    bench.now = 15_000;
    const hung = bench.begin();
    bench.now = 29_999;
    expect(await bench.request()).toMatchObject({ code: "model_unavailable", retryAfterMs: 1 });
    bench.now = 30_000;
    const second = bench.begin();
    expect([second.isSent, bench.begin().isSent]).toEqual([true, false]);
    expect(await second.end()).toBe("ok");
    expect(await hung.end(down)).toBe(down);
    expect(await bench.request()).toBe("ok");
  });

  it("A circuit is closed by an answer that took long, whoever was let through meanwhile", async () => {
    for (let n = 0; n < 3; n++) await bench.request(down);
    bench.now = 15_000;
    const slow = bench.begin();
    bench.now = 30_000;
    const second = bench.begin();
    expect(await slow.end()).toBe("ok");
    expect(await bench.request()).toBe("ok");
    await second.end(down);
    expect(await bench.request()).toBe("ok");
  });

  it("A circuit is open for longer each time, up to five minutes", async () => {
    for (let n = 0; n < 2; n++) await bench.request(down);
    const times: (number | undefined)[] = [];
    for (let n = 0; n < 7; n++) {
      const fault = (await bench.request(down)) as AppError;
      times.push(fault.retryAfterMs);
      bench.now += fault.retryAfterMs ?? 0;
    }
    expect(times).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
  });

  it("A circuit opens at once for as long as a provider asks, and for an hour at most", async () => {
    expect(await bench.request(limited(120_000))).toMatchObject({ retryAfterMs: 120_000 });
    const other = new Bench();
    expect(await other.request(limited(1e12))).toMatchObject({ retryAfterMs: 3_600_000 });
  });

  it("A circuit learns nothing of an abort: the next request is let through instead", async () => {
    for (let n = 0; n < 3; n++) await bench.request(down);
    bench.now = 15_000;
    expect(await bench.request(aborted)).toBe(aborted);
    expect(await bench.request()).toBe("ok");
  });

  it("A circuit is not kept open by what began before it opened", async () => {
    const late = [bench.begin(), bench.begin()] as const;
    for (let n = 0; n < 3; n++) await bench.request(down);
    bench.now = 14_000;
    expect(await late[0].end(down)).toMatchObject({ code: "model_unavailable", retryAfterMs: 1_000 });
    expect(await late[1].end()).toBe("ok");
    expect(await bench.request()).toBeInstanceOf(ModelUnavailable);
    bench.now = 15_000;
    expect(await bench.request()).toBe("ok");
  });

  it("The circuit of an endpoint counts lost connections, that of a model failures", async () => {
    const endpoint = new Bench(judgeEndpoint);
    for (const fault of [unreachable, unreachable, down, unreachable, unreachable])
      await endpoint.request(fault);
    expect(await endpoint.request()).toBe("ok");
    for (let n = 0; n < 9; n++) await bench.request(unreachable);
    expect(await bench.request()).toBe("ok");
  });
});

describe("any course of requests", () => {
  const faults = [undefined, down, limited(40_000), refused, aborted, unreachable, new Error("ours")];
  const step = fc.oneof(
    fc.record({ kind: fc.constant("begin" as const) }),
    fc.record({
      kind: fc.constant("end" as const),
      which: fc.nat(),
      fault: fc.constantFrom(...faults, down, down),
    }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 60_000 }) }),
  );

  it("A circuit rejects only after outages, admits one trial and always closes again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.double({ min: 0, max: 1 }), async (steps, r) => {
        const bench = new Bench(judgeModel, () => r);
        let under: ReturnType<Bench["begin"]>[] = [];
        let outages = 0;
        let rejectedSince: { trials: number } | null = null;
        for (const one of steps) {
          if (one.kind === "wait") {
            bench.now += one.ms;
            // The one that was let through may hang.
            rejectedSince = null;
          }
          if (one.kind === "begin") {
            const request = bench.begin();
            if (!request.isSent) {
              const fault = (await request.ended) as AppError;
              expect(fault.code).toBe("model_unavailable");
              expect(fault.retryAfterMs).toBeGreaterThan(0);
              expect(fault.retryAfterMs).toBeLessThanOrEqual(300_000);
              expect(outages).toBeGreaterThan(0);
              rejectedSince ??= { trials: 0 };
            } else {
              under.push(request);
              if (rejectedSince) rejectedSince.trials += 1;
            }
            if (rejectedSince) expect(rejectedSince.trials).toBeLessThanOrEqual(1);
          }
          if (one.kind === "end" && under.length > 0) {
            const [request] = under.splice(one.which % under.length, 1);
            await request?.end(one.fault);
            if (one.fault === down || one.fault?.message === "429") outages += 1;
            // Whatever it was, it may have been the one that decides.
            rejectedSince = null;
          }
        }
        for (const request of under) await request.end(aborted);
        under = [];
        bench.now += 300_000;
        expect(await bench.request()).toBe("ok");
        expect(bench.begin().isSent && bench.begin().isSent).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
