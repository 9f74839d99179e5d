/** Its search never ends in time on a file of a thousand lines: each node is compared with each. */
export const slowRule = (id: string) => `id: ${id}
language: TypeScript
message: slow
rule:
  inside:
    kind: program
    stopBy: end
    has: { stopBy: end, pattern: "zz($X)", inside: { kind: program, stopBy: end } }
`;

/** ast-grep follows this rule until its native stack is full, and the process dies of it. */
export const deadlyRule = (id: string, language = "TypeScript") => `id: ${id}
language: ${language}
message: deadly
utils:
  round: { kind: number, inside: { stopBy: end, kind: program, has: { stopBy: end, matches: round } } }
rule: { matches: round }
`;

export const callRule = (id: string, name: string) => `id: ${id}
language: TypeScript
severity: warning
message: ${name} is not used here
rule: { pattern: ${name}($$$A) }
`;

/** Calls in which the slow rule is slow. */
export const longText = `${Array.from({ length: 3_000 }, (_, at) => `f${at}(a, b, [1, 2, { x: y }]);`).join("\n")}\n`;
