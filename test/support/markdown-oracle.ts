import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { parseMarker } from "../../src/core/ledger/marker.ts";

/** Renders Markdown approximately as GitHub does: another implementation of its dialect, with HTML allowed. */
export const pageOf = (markdown: string) =>
  micromark(markdown, {
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
    allowDangerousHtml: true,
    allowDangerousProtocol: true,
  });

/** The text that a reader sees as prose: without code, and with entities decoded. */
export function proseOf(page: string): string {
  return page
    .replace(/<pre><code[^>]*>[\s\S]*?<\/code><\/pre>/g, "\n")
    .replace(/<code>[\s\S]*?<\/code>/g, "\u0001")
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/<[^>]*>/g, "\u0001")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&");
}

const formatting = "p br em strong del ul ol li blockquote h1 h2 h3 h4 h5 h6 hr pre code".split(" ");
const folds = ["details", "summary", "sub"];

/** Live elements in a rendered text of others; there should be none. */
export function liveIn(markdown: string): string[] {
  const page = pageOf(markdown);
  const forged = parseMarker(markdown) === undefined ? [] : ["a marker"];
  return [
    ...elementsIn(page, new Set(formatting)),
    ...liveInProse(proseOf(page)),
    ...liveAsSource(markdown),
    ...(page.replace(/<code[\s\S]*?<\/code>/g, "").match(/<!--/g) ?? []),
    ...(page.match(/<(?:p|li|h[1-6])>\s*[/.!]\u200b?[a-z]/gi) ?? []).filter(
      (found) => !found.includes("\u200b"),
    ),
    ...forged,
  ];
}

/** Additional elements that our own texts may contain. */
export interface Ours {
  /** Allowed prefixes of our links. */
  links: readonly string[];
  /** Names of commits that our texts link on purpose, and prices. */
  words?: readonly string[];
  /** Additional elements. */
  elements?: readonly string[];
}

/** Live elements in a whole body of ours that should not be there. */
export function liveInBody(body: string, { links, words = [], elements = [] }: Ours): string[] {
  const page = pageOf(body);
  const allowed = new Set([...formatting, ...folds, "a", ...elements]);
  const targets = [...page.matchAll(/<a\s[^>]*href="([^"]*)"/g)].map(([, target]) => target ?? "");
  const prose = words.reduce((text, word) => text.replaceAll(word, ""), proseOf(page));
  return [
    ...elementsIn(page, allowed),
    ...targets
      .filter((target) => !links.some((link) => target.startsWith(link)))
      .map((target) => `a link to ${target}`),
    ...liveInProse(prose),
    ...liveAsSource(body),
  ];
}

function elementsIn(page: string, allowed: ReadonlySet<string>): string[] {
  const found = [...page.matchAll(/<([a-z][a-z0-9-]*)/gi)].map(([, name]) => (name ?? "").toLowerCase());
  const active = page.match(/class="language-(suggestion|mermaid|math|geojson|topojson|stl)"/g) ?? [];
  return [...found.filter((name) => !allowed.has(name)).map((name) => `an element ${name}`), ...active];
}

/** References that GitHub links in prose. */
const references: [what: string, RegExp][] = [
  ["a mention", /@[a-z0-9]/i],
  ["an issue", /#\d|\bGH-\d/i],
  ["an address", /:\/\/|www\./i],
  [
    "a commit",
    /(?<![a-z0-9])(?:(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,39}|[0-9a-f]{40}|[0-9a-f]{64})(?![a-z0-9])/i,
  ],
  ["a formula", /\$/],
  ["something hidden", /[[\p{Cf}\p{Default_Ignorable_Code_Point}]--[\u200b-\u200d\ufe0f]]/v],
];

function liveInProse(prose: string): string[] {
  return references.flatMap(([what, pattern]) => {
    const [found] = pattern.exec(prose) ?? [];
    return found === undefined ? [] : [`${what}: ${found}`];
  });
}

/** Text that other bots read as a command: they read the source of a comment, regardless of its Markdown. */
function liveAsSource(markdown: string): string[] {
  return [
    ...markdown.matchAll(/^[ \t>]*\/[a-z][\w-]*(?=[ \t]|$)|@(?:dependabot|coderabbitai|claude)/gim),
  ].map(([found]) => `a command: ${found}`);
}
