import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest } from "../../../src/agent/llm/model.ts";
import { isLoopEntry, type LoopEntry, type RunEntry } from "../../../src/agent/record/trajectory.ts";
import { AppError } from "../../../src/core/errors.ts";
import { codeHash } from "../../../src/core/ledger/entry.ts";
import type { ReviewResult } from "../../../src/tasks/shapes/review-result.ts";
import type { ScriptedTurn } from "../../support/scripted.ts";
import {
  COUNT,
  comment,
  confirms,
  createRounds,
  finding,
  names,
  type RoundOptions,
  type Rounds,
  reports,
  resolves,
  round,
} from "./followup/later-round.ts";

const long = process.env.HUNKWISE_LONG === "1";

/*
 * A review whose process dies after any entry of its record, and is taken up from that record. Loops of all kinds take part:
 * reading, merging, second looks, comparing with what was said before, looking again at what was said.
 */

let rounds: Rounds;
let before: RoundOptions;
beforeAll(async () => {
  rounds = createRounds();
  const { reviewed } = (await round(rounds, { head: "first" })).ledger;
  const sum = { line: 2, quote: "  let sum = 0;" };
  const fresh = { line: 3, quote: "  for (const price of prices) sum += 1 * price;" };
  const priced = { promptTokens: 3_000, cachedTokens: 0, completionTokens: 300, costUsd: 0.01 };
  const paid = (turn: ScriptedTurn) => ({ ...turn, usage: priced });
  before = {
    // Only several readers need a merging one.
    ...{ head: "fixed", reviewed, effort: "high" },
    // The code of two is gone; that of the third stands beside what is found now.
    earlier: [
      comment(),
      comment({ comment: 8, id: "bbbbbbbbbbbb", ...COUNT, title: "One too few" }),
      comment({
        ...{ comment: 9, id: "cccccccccccc", line: sum.line, original_line: sum.line },
        ...{ code: codeHash(sum.quote), title: "Cents overflow" },
      }),
    ],
    script: {
      // A turn that reads and one that ends, so that a run may be cut off between the two.
      review: ({ messages }) =>
        paid(
          messages.length === 2
            ? { toolCalls: [{ name: "read_file", arguments: { file_path: "other.ts" } }] }
            : reports(
                finding({ ...fresh, title: "Multiplying by one hides a rounding fault" }),
                finding({ ...sum, title: "The sum starts as an integer" }),
              ),
        ),
      merge: () => paid(reports()),
      verify: () => paid(confirms()),
      compare: () => paid(names()),
      recheck: () => paid(resolves("present")),
    },
  };
});
afterAll(() => rounds?.dispose());

const died = new AppError("aborted", "The process died");

interface Run {
  entries: RunEntry[];
  requests: readonly ModelRequest[];
  result: ReviewResult | undefined;
  /** Names of the loops that were asked anything. */
  loops: string[];
}

const everything = () => true;

/** A run that dies when it wants to write down what it may not. */
async function run(options: RoundOptions, may: (entry: RunEntry) => boolean = everything): Promise<Run> {
  const entries: RunEntry[] = [];
  const requests: ModelRequest[] = [];
  const scripts = Object.entries(options.script ?? {}).map(([loop, answer]) => [
    loop,
    (request: ModelRequest) => {
      requests.push(structuredClone(request));
      return answer(request);
    },
  ]);
  const append = async (entry: RunEntry) => {
    if (!may(entry)) throw died;
    entries.push(JSON.parse(JSON.stringify(entry)));
  };
  const asked = { ...options, script: Object.fromEntries(scripts), trajectory: { append } };
  const result = await round(rounds, asked).then(
    (done) => done.result,
    (error) => {
      if (error !== died) throw error;
      return undefined;
    },
  );
  const turns = entries.flatMap((entry) => (entry.kind === "turn" ? [entry.loop] : []));
  return { entries, requests, result, loops: [...new Set(turns)] };
}

/** What another run goes along: how a loop ended, and that a unit was read, follow from it. */
const replayOf = (entries: readonly RunEntry[]): LoopEntry[] =>
  entries.flatMap((entry) => (isLoopEntry(entry) && entry.kind !== "stopped" ? [entry] : []));
const turnsIn = (entries: readonly RunEntry[]) => entries.filter(({ kind }) => kind === "turn").length;

describe("a resumed review", () => {
  it.runIf(long)(
    "A resumed review asks for no recorded turn and has the same result, wherever its record ends",
    async () => {
      const whole = await run(before);
      for (const loop of ["review", "merge", "verify:", "compare", "recheck:"])
        expect(whole.loops.join(), loop).toContain(loop);

      const record = replayOf(whole.entries);
      for (let k = 0; k <= record.length; k++) {
        const replay = record.slice(0, k);
        const again = await run({ ...before, replay });

        expect(again.requests.length, `after ${k}`).toBe(whole.requests.length - turnsIn(replay));
        expect(again.result, `after ${k}`).toEqual(whole.result);
      }
    },
  );

  it("A resumed review has the same result, however often it dies", async () => {
    const whole = await run(before);
    const record: RunEntry[] = [];
    let asked = 0;
    let result: ReviewResult | undefined;
    for (let tries = 0; result === undefined && tries <= whole.requests.length; tries++) {
      let turns = 0;
      const isFirstTurn = ({ kind }: RunEntry) => kind !== "turn" || ++turns === 1;
      const one = await run({ ...before, replay: replayOf(record) }, isFirstTurn);
      asked += turnsIn(one.entries);
      record.push(...one.entries);
      result = one.result;
    }
    expect(result).toEqual(whole.result);
    expect(asked).toBe(whole.requests.length);
  });
});
