import { html as template } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

/** HTML that is safe to write into a page. */
export type Html = HtmlEscapedString;

/** What may occur in a template. Text is escaped, for content and for quoted attributes; null, undefined and false are nothing. */
export type HtmlPart = Html | string | number | null | undefined | false | readonly HtmlPart[];

/** A template of HTML: html`<td title="${text}">${text}</td>`. Attributes need quotes. */
export const html = (strings: TemplateStringsArray, ...parts: HtmlPart[]): Html =>
  // A promise only results from a promise among the parts.
  template(strings, ...parts) as Html;
