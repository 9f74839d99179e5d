export interface DemoEnd {
  /** Number of planted faults that were found. */
  found: number;
  planted: number;
  withModel: boolean;
  /** The check run's output. */
  check: { title: string; summary: string };
}

/** Advice on faults that the demo's review did not find, as complete lines. */
export function adviceOn({ found, planted, withModel, check }: DemoEnd): string[] {
  if (found === planted) return [];
  if (!withModel)
    return [
      "No rule finds the other fault; a model can. Set OPENAI_API_KEY or ANTHROPIC_API_KEY and run this again.",
    ];
  const isUnread = check.title === "The review failed" || check.summary.includes("no requests to a model");
  if (!isUnread)
    return ["This model missed the others. Set HUNKWISE_MODEL to another one and run this again."];
  return [
    "No model answered. 'npm run -s hunkwise -- doctor' checks it and says what is wrong.",
    "Without OPENAI_API_KEY, ANTHROPIC_API_KEY and OPENAI_BASE_URL the demo uses only the analyzers, which find five of the six faults.",
  ];
}
