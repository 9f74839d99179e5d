import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

/** Debian's Chromium on the PATH; undefined if there is none. No other browser is downloaded. */
const program = (process.env.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "chromium"))
  .find((file) => existsSync(file));

/** The reason why this machine cannot show a page; null if it can. */
export const whyNoChromium = program === undefined ? "chromium is not installed" : null;

/** Starts a browser. Its own sandbox does not start as root, and it only visits servers of the tests. */
export function startChromium(): Promise<Browser> {
  if (program === undefined) throw new Error("Install chromium: `apt-get install chromium`");
  return chromium.launch({ executablePath: program, args: ["--no-sandbox", "--force-color-profile=srgb"] });
}

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** A breach of an accessibility rule, in a line. */
interface AxeResults {
  violations: {
    id: string;
    impact: string | null;
    help: string;
    nodes: { html: string; failureSummary?: string }[];
  }[];
}

/**
 * What axe-core finds on a page that is serious or critical (WCAG 2.2 A and AA, and its best practices), as lines. The page needs a context
 * with script that ignores the page's policy. Frames and media, which it would wait for, are on no page.
 */
export async function seriousIssues(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.addScriptTag({ path: axe });
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run(document, { resultTypes: ['violations'], preload: false, iframes: false })",
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) =>
      nodes
        .slice(0, 5)
        .map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
    );
}
