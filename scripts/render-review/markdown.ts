import { micromark, type Options } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { Html, html } from "./html.ts";

type HtmlExtension = NonNullable<Options["htmlExtensions"]>[number];

/** In comments, unlike in files, GitHub keeps the author's line breaks. */
function lineBreaks(): HtmlExtension {
  let inProse = false;
  let isBroken = false;
  const breaks = (): undefined => {
    isBroken = true;
  };
  return {
    enter: {
      content(): undefined {
        inProse = true;
      },
      hardBreakEscape: breaks,
      hardBreakTrailing: breaks,
      // Runs before the line ending itself is written; a code span turns it into a space.
      lineEnding(): undefined {
        if (inProse && !isBroken && !this.getData("inCodeText")) this.raw("<br />");
        isBroken = false;
      },
    },
    exit: {
      content(): undefined {
        inProse = false;
      },
    },
  };
}

/** A comment's Markdown as GitHub shows it; `replaced` are the lines that its suggestion would replace. */
export function renderMarkdown(markdown: string, replaced: readonly string[] = []): Html {
  const written = micromark(markdown, {
    allowDangerousHtml: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml(), lineBreaks()],
  });
  const suggestion = /<pre><code class="language-suggestion">([\s\S]*?)<\/code><\/pre>/g;
  const shown = written.replace(
    suggestion,
    (_, code: string) => suggestedChange(replaced, code.replace(/\n$/, "").split("\n")).text,
  );
  return html`<div class="markdown-body">${new Html(shown)}</div>`;
}

/** `suggested` lines are already markup. */
function suggestedChange(replaced: readonly string[], suggested: readonly string[]): Html {
  const removed = replaced.map((line) => html`<div class="row removed"><i>-</i><code>${line}</code></div>`);
  const added = suggested.map(
    (line) => html`<div class="row added"><i>+</i><code>${new Html(line)}</code></div>`,
  );
  return html`<div class="suggestion"><div class="bar">Suggested change</div>${removed}${added}</div>`;
}
