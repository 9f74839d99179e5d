/** Finished markup; any other text is escaped in templates. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[] | undefined;

export const escapeHtml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** A part of a page. Omits undefined values. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  const pieces = strings.map((text, index) => text + written(values[index]));
  return new Html(pieces.join(""));
}

function written(value: Value): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map((one) => one.text).join("");
  return escapeHtml(String(value));
}
