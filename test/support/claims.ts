/** The claims that a verification is asked about, each with its number and its text. */
export function claimsIn(messages: readonly { content?: unknown }[]): { claim: number; text: string }[] {
  const asked = messages.map(({ content }) => String(content ?? "")).join("\n");
  const [, ...parts] = asked.split(/^## Claim (?=\d+$)/m);
  return parts.map((text) => ({ claim: Number.parseInt(text, 10), text }));
}

/** Whether a request is for a second look: it has the reviewer's tools and instructions, and asks about claims at the end. */
export const isSecondLook = ({ messages }: { messages: readonly { content?: unknown }[] }): boolean =>
  claimsIn(messages).length > 0;

/** The same verdict on every claim, as calls of `report_verdict`. */
export function onEveryClaim<Arguments extends object>(
  messages: readonly { content?: unknown }[],
  verdict: Arguments,
): { name: string; arguments: Arguments & { claim: number } }[] {
  return claimsIn(messages).map(({ claim }) => ({
    name: "report_verdict",
    arguments: { ...verdict, claim },
  }));
}
