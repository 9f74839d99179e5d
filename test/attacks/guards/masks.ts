import type { Guard } from "../guard.ts";

const requests = "test/process/masked-requests.test.ts";
const row = "secret-to-provider";

export const guards: readonly Guard[] = [
  {
    guard: "what a model is asked is masked",
    row,
    file: "src/process/parent-port.ts",
    from: "const masked = await masking.request(request);",
    to: "const masked = request;",
    test: requests,
    title: "holds none in the text protocol, where calls and answers are written out",
  },
  {
    guard: "both sides of a change are known as a whole before its diff is shown",
    row,
    file: "src/process/learning-workspace.ts",
    from: "const [text, ...known] = [await patch, ...(await learnSides(sides))];",
    to: "const [text, ...known] = [await patch, ...sides.map(() => learnSides === undefined)];",
    test: "test/process/learning-workspace.test.ts",
    title: "knows both sides of a changed file before its diff is shown, also without context",
  },
  {
    guard: "no mask is written into a file",
    row,
    file: "src/agent/masked-call.ts",
    from: "if (holds(masks, given[argument]))",
    to: 'if (argument === "")',
    test: "test/agent/masked-call.test.ts",
    title: "writes none into a file or its name, also where its arguments are no JSON",
  },
  {
    guard: "a quote that was given its value back is published nowhere",
    row,
    file: "src/process/masked-outcome.ts",
    from: 'masks.holdsSecret(quote) ? "" : quote',
    to: 'masks === undefined ? "" : quote',
    also: [
      {
        file: "src/process/redact-outcome.ts",
        from: 'return clean === written ? clean : "";',
        to: "return written ?? clean;",
      },
    ],
    test: requests,
    title: "stands on the line that git has, without its suggestion and with nothing of the secret",
  },
];
