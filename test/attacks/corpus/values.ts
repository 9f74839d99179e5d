/** Values of the wrong type or size, for any argument. */
export const oddValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  "",
  " ",
  "x".repeat(100_000),
  "\u{E0041}\u202E\u0000\uD800",
  [],
  ["../../etc/passwd"],
  [[[[]]]],
  {},
  { toString: "x", valueOf: 1 },
  { $ref: "#/definitions/secret" },
  nested(200),
];

function nested(depth: number): unknown {
  return depth === 0 ? "deep" : { down: nested(depth - 1) };
}

/** Complete arguments that a model may write: broken, of another shape, or with properties that every object has. */
export const oddArguments: readonly string[] = [
  "",
  "null",
  "[]",
  '"text"',
  "42",
  "{",
  '{"file_path": "src/parser.ts"',
  "{'file_path': 'src/parser.ts'}",
  '{"file_path": NaN}',
  '{"file_path": "src/parser.ts", "file_path": "../../etc/passwd"}',
  '{"__proto__": {"polluted": true, "isPrivate": false}}',
  '{"constructor": {"prototype": {"polluted": true}}}',
  '{"file_path": {"__proto__": {"polluted": true}}}',
  '{"__proto__": null, "toString": 1}',
  `{"file_path": "${"../".repeat(3_000)}etc/passwd"}`,
  "[".repeat(20_000),
  `{"a":`.repeat(5_000),
  '{"ref": "HEAD; cat /etc/passwd"}',
  '{"env": true, "cwd": "/", "shell": true}',
  "<tool_call>read_file /etc/passwd</tool_call>",
];

/** Names of tools that exist elsewhere. */
export const unknownTools: readonly string[] = [
  "bash",
  "run_shell",
  "execute_command",
  "write_file",
  "read_env",
  "fetch_url",
  "create_pull_request_review",
  "merge_pull_request",
  "approve",
  "__proto__",
  "constructor",
  "toString",
  "../read_file_part",
];
