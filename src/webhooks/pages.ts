import type { Answer } from "./http.ts";

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:38rem;margin:12vh auto;padding:0 1.5rem;color:#1f2328;
background:#fff}h1{font-size:1.5rem}button,input{font:inherit;padding:.5rem 1rem;border-radius:.4rem;border:1px solid #8c959f}
button{background:#1f883d;border-color:#1f883d;color:#fff;cursor:pointer}input{width:20rem}code{background:#eff1f3;
padding:.1rem .3rem;border-radius:.3rem}details{margin-top:2rem}
.note{border-left:.25rem solid #bf8700;padding-left:1rem}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}code{background:#262c36}}`;

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML, in content and in quoted attributes. */
export const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (character) => entities[character] ?? "");

/** A whole page. `body` is HTML. Forms may only be sent to this server and `formTarget`, and no script runs. */
export function htmlPage(title: string, body: string, formTarget = ""): Answer {
  return {
    status: 200,
    type: "text/html",
    body: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body>
${body}
</body></html>
`,
    headers: {
      "content-security-policy": `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${formTarget}; base-uri 'none'; frame-ancestors 'none'`,
      // The address of the setup page may contain its key. The host by itself is not secret, and tells GitHub the origin of a form.
      "referrer-policy": "origin",
    },
  };
}

export function landingPage(): Answer {
  return htmlPage(
    "Hunkwise",
    `<h1>Hunkwise is running</h1>
<p>It reviews pull requests in the repositories in which its GitHub App is installed. There is nothing to do here:
open a pull request, or write <code>/review</code> in one.</p>`,
  );
}
