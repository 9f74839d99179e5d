import type { ChatRequestBody, FakeAnswer, FakeScript } from "./fake-openai.ts";

/** A script for the reviewer alone: whoever is asked to judge or to merge agrees with what the reviewer said. */
export interface AgreeingScript {
  script(body: ChatRequestBody): Promise<FakeAnswer>;
  /** Whether a request went to the reviewer, and not to a second look or to the merging pass. */
  isReview(body: ChatRequestBody): boolean;
}

const offers = (body: ChatRequestBody, tool: string) =>
  (body.tools ?? []).some((one) => one.function.name === tool);

export function withAgreeingSceptic(script: FakeScript): AgreeingScript {
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
    const asked = JSON.stringify(body.messages);
    const title = [...severities.keys()].find((one) => asked.includes(JSON.stringify(one).slice(1, -1)));
    const verdict = { verdict: "confirmed", failing_input: "as reported", reason: "The code says so." };
    const severity = (title !== undefined && severities.get(title)) || "medium";
    return { tool_calls: [{ name: "report_verdict", arguments: { ...verdict, severity } }] };
  }

  async function next(body: ChatRequestBody): Promise<FakeAnswer> {
    const n = reviews++;
    const answer = typeof script === "function" ? await script(body, n) : script[n];
    if (answer === undefined) throw new Error(`the script has no answer to request ${n}`);
    return remember(answer);
  }

  return {
    isReview: (body) => !offers(body, "report_verdict") && !offers(body, "join_findings"),
    async script(body) {
      if (offers(body, "report_verdict")) return confirm(body);
      if (offers(body, "join_findings")) {
        return { tool_calls: [{ name: "finish_review", arguments: { summary: "Nothing to join." } }] };
      }
      return next(body);
    },
  };
}
