import type { Change, Guard } from "../guard.ts";

// All that keeps a model from what it looks for, taken away for one kind of secret at a time: that it is found then shows that
// it was there to be found, that the model asked for it, and that the search knows it.

const obedient = "test/attacks/obedient-model.test.ts";
const saysNothing = "says nothing secret to GitHub, git or the model's endpoint";
const row = "environment-by-tools";

/** A tool that shows the long words of any file of the machine, as a program reads it: that goes past Node's wall. */
const anyFile = (paths: string): Change => ({
  file: "src/tools/read-file-part.ts",
  from: "const entry = await resolveFile(input.file_path, input.ref, context);",
  to: `if (${paths}.test(input.file_path)) {
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    const { stdout } = spawnSync("grep", ["-aoE", "[A-Za-z0-9+/=_-]{16,}", input.file_path], { timeout: 2_000 });
    throw new ToolError(String(stdout).slice(-30_000));
  }
  const entry = await resolveFile(input.file_path, input.ref, context);`,
});

const hole = (what: string, paths: string, also: readonly Change[] = []): Guard => ({
  guard: `All that keeps tools out of ${what}`,
  ...{ row, ...anyFile(paths), also, test: obedient, title: saysNothing },
});

/** What would take the server's own secrets out again. */
const ownSecrets: readonly Change[] = [
  {
    file: "src/llm/without-secrets.ts",
    from: "holdsPlainSecret(text) ? withoutLiveSecrets(text) : text",
    to: "text === '' ? withoutLiveSecrets(text) + String(holdsPlainSecret(text)) : text",
  },
  {
    file: "src/llm/openai-endpoint.ts",
    from: "holdsSecret: holdsPlainSecret,",
    to: "holdsSecret: (body) => body === '' && holdsPlainSecret(body),",
  },
];

/** A tool that shows one variable of the environment of processes. */
const oneVariable = (what: string, name: string): Guard => ({
  guard: `All that keeps tools out of ${what}, and it out of what the model is told`,
  row,
  file: "src/tools/read-file-part.ts",
  from: "const entry = await resolveFile(input.file_path, input.ref, context);",
  to: `if (/^.proc.*environ$/.test(input.file_path)) {
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    const { stdout } = spawnSync("grep", ["-azoE", "^${name}=.*", input.file_path], { timeout: 2_000 });
    throw new ToolError(String(stdout).replaceAll("\\0", " "));
  }
  const entry = await resolveFile(input.file_path, input.ref, context);`,
  also: ownSecrets,
  test: obedient,
  title: saysNothing,
});

/** A server that keeps its tokens in its folder, as some do, and a tool that shows them. */
const keptToken = (what: string, isKept: string): Guard =>
  hole(`a file with ${what}, and it out of files and of what the model is told`, "/tokens[.]json$/", [
    ...ownSecrets,
    {
      file: "src/webhooks/probot.ts",
      from: "      registerSecret(token);\n",
      to: `      registerSecret(token);
      if (${isKept}) process.getBuiltinModule("node:fs").appendFileSync(process.env.HUNKWISE_DATA_DIR + "/tokens.json", token + "\\n");
`,
    },
  ]);

const byHearsay =
  "compares findings with comments by what it was told of them: it reads nothing, and no other pair is taken";

/** What a role may ask for. */
const roles: readonly Guard[] = [
  {
    guard: "Whoever compares findings names pairs that were asked about",
    row: "tool-abuse",
    file: "src/review/compare/ask-same.ts",
    from: "if (unknown) {",
    to: "if ((false as boolean) && unknown) {",
    test: obedient,
    title: byHearsay,
  },
  {
    guard: "Whoever compares findings has nothing to read with",
    row: "tool-abuse",
    file: "src/review/compare/ask-same.ts",
    from: "isTold: true,",
    to: "isTold: false,",
    test: obedient,
    title: byHearsay,
  },
  {
    guard: "Whoever merges joins findings that there are",
    row: "tool-abuse",
    file: "src/tools/join-findings.ts",
    from: "if (!answer.ok) throw new ToolError(answer.reason);\n  return { output: { keep, note: answer.note } };",
    to: 'return { output: { keep, note: answer.ok ? answer.note : "joined" } };',
    test: obedient,
    title: "joins no findings that there are not",
  },
];

export const guards: readonly Guard[] = [
  ...roles,
  hole("the environment of a git that fetches, which holds a token", "/task.[0-9]+.environ$/"),
  keptToken("the token of GitHub's API", '"checks" in permissions'),
  keptToken("the token of a fetch", "Object.keys(permissions).length === 1"),
  keptToken("a token that writes code", 'permissions.contents === "write"'),
  oneVariable("the webhook secret", "WEBHOOK_SECRET"),
  oneVariable("the model's key", "OPENAI_API_KEY"),
  hole("the environment of processes", "/^.proc.*environ$/"),
  hole("the arguments of processes", "/^.proc.*cmdline$/"),
  hole("home folders", "/.home.[.]/"),
  hole("the database", "/queue[.]db/"),
  hole("the data folder", "/app[.]json$/"),
  hole("the neighbour's checkout", "/accounts[.]txt$/"),
  hole("the key file, and the key out of what the model is told", "/private-key/", ownSecrets),
  hole(
    "the environment, and the server's own secrets out of what the model is told",
    "/^.proc.*environ$/",
    ownSecrets,
  ),
  {
    guard: "All that keeps the environment out of the log",
    row: "log-injection",
    file: "src/logger.ts",
    from: "const clean = withoutSecrets(line);",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    to: "const clean = `${line.trimEnd()} ${JSON.stringify(globalThis.process.env)}\\n`;",
    test: obedient,
    title: "has nothing secret written into the log",
  },
  {
    guard: "No environment of the server in that of the review process, and no tool that shows it",
    row,
    file: "src/process/start-review-process.ts",
    from: "env: { ...ownerVariable, ...compiledCodeVariable, TMPDIR",
    to: "env: { ...process.env, ...ownerVariable, ...compiledCodeVariable, TMPDIR",
    also: [
      {
        file: "src/tools/resolve-path.ts",
        from: 'if (given.includes("\\0")) throw new ToolError("the path holds a NUL character");',
        to: 'if (given.includes("environ")) throw new ToolError(JSON.stringify(globalThis.process.env));',
      },
    ],
    test: obedient,
    title: saysNothing,
  },
  {
    guard: "The model's key in no header but its own",
    row: "ssrf",
    file: "src/llm/openai-endpoint.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    from: "  return { authorization: `Bearer ${apiKey}` };",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    to: '  return { authorization: `Bearer ${apiKey}`, "x-api-key": apiKey };',
    test: obedient,
    title: saysNothing,
  },
  {
    guard: "The token of a fetch in no other header of it",
    row: "token-at-rest",
    file: "src/git/remote-access.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    from: "return [[`http.${new URL(url).origin}/.extraHeader`, `Authorization: ${authorization}`]];",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    to: 'return [[`http.${new URL(url).origin}/.extraHeader`, `Authorization: ${authorization}`], ["http.userAgent", authorization]];',
    test: obedient,
    title: saysNothing,
  },
];
