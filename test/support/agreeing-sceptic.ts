import { candidateIds } from "./answer-candidates.ts";
import { claimsIn, isSecondLook } from "./claims.ts";
import type { ChatRequestBody, FakeAnswer, FakeScript } from "./fake-openai.ts";

/** Answers to the questions that later rounds ask. By default nothing is fixed, and no finding repeats an earlier one. */
export interface LaterRounds {
  /** State of the earlier finding that a request asks about. */
  resolution?(asked: string): { state: "fixed" | "present" | "unsure"; reason: string };
  /** The pairs in a request that describe one problem. */
  same?(asked: string): { finding: string; earlier: string }[];
}

/** Tools of loops that neither review nor check claims. */
const others = ["join_findings", "report_resolution", "same_problems", "choose_comments"];

/** Adds a rejection of every rule match that the reviewer did not report before it finishes. */
function rejectingMatches(answer: FakeAnswer, body: ChatRequestBody): FakeAnswer {
  if (!("tool_calls" in answer)) return answer;
  const messages = body.messages.map(({ content }) => ({ content: String(content ?? "") }));
  const rejected = candidateIds({ messages }).map((candidate) => ({ candidate, reason: "It is right." }));
  const tool_calls = (answer.tool_calls ?? []).map((call) =>
    call.name === "finish_review" && typeof call.arguments === "object"
      ? { ...call, arguments: { rejected, ...call.arguments } }
      : call,
  );
  return { ...answer, tool_calls };
}

/** A script for the reviewer only: the roles that judge or merge agree with the reviewer. */
export interface AgreeingScript {
  script(body: ChatRequestBody): Promise<FakeAnswer>;
  /** True for requests to the reviewer; false for a second look, the merging pass or a later round's questions. */
  isReview(body: ChatRequestBody): boolean;
}

const offers = (body: ChatRequestBody, tool: string) =>
  (body.tools ?? []).some((one) => one.function.name === tool);

export function withAgreeingSceptic(script: FakeScript, later: LaterRounds = {}): AgreeingScript {
  const severities = new Map<string, unknown>();
  let reviews = 0;

  function remember(answer: FakeAnswer): FakeAnswer {
    if (!("tool_calls" in answer)) return answer;
    for (const { name, arguments: given } of answer.tool_calls ?? []) {
      if (name !== "report_finding" || typeof given !== "object") continue;
      severities.set(String(given.title), given.severity);
    }
    return answer;
  }

  function confirm(body: ChatRequestBody): FakeAnswer {
    const verdict = { verdict: "confirmed", failing_input: "as reported", reason: "The code says so." };
    const tool_calls = claimsIn(body.messages).map(({ claim, text }) => {
      const title = [...severities.keys()].find((one) => text.includes(one));
      const severity = (title !== undefined && severities.get(title)) || "medium";
      return { name: "report_verdict", arguments: { ...verdict, claim, severity } };
    });
    return { tool_calls };
  }

  async function next(body: ChatRequestBody): Promise<FakeAnswer> {
    const n = reviews++;
    const answer = typeof script === "function" ? await script(body, n) : script[n];
    if (answer === undefined) throw new Error(`the script has no answer to request ${n}`);
    return remember(rejectingMatches(answer, body));
  }

  return {
    isReview: (body) => !isSecondLook(body) && !others.some((tool) => offers(body, tool)),
    async script(body) {
      if (isSecondLook(body)) return confirm(body);
      if (offers(body, "join_findings")) {
        return { tool_calls: [{ name: "finish_review", arguments: { summary: "Nothing to join." } }] };
      }
      const asked = JSON.stringify(body.messages);
      if (offers(body, "choose_comments")) {
        const all = asked.matchAll(/## Finding (\d+)\\nSeverity (\w+)/g);
        const comments = [...all].flatMap(([, number, severity]) =>
          severity === "low" ? [] : [Number(number)],
        );
        return { tool_calls: [{ name: "choose_comments", arguments: { comments } }] };
      }
      if (offers(body, "report_resolution")) {
        const still = { state: "present", reason: "The code still does it." };
        const resolution = later.resolution?.(asked) ?? still;
        return { tool_calls: [{ name: "report_resolution", arguments: { ...resolution } }] };
      }
      if (offers(body, "same_problems")) {
        return { tool_calls: [{ name: "same_problems", arguments: { pairs: later.same?.(asked) ?? [] } }] };
      }
      return next(body);
    },
  };
}
