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

/**
 * The page of an App without a client secret, which is missing where the App was created by hand or by an older version. It does not repeat
 * the address by which a visitor came: anyone can name a host.
 */
export function landingPage(webUrl: string): Answer {
  return htmlPage(
    "Hunkwise",
    `<h1>Hunkwise is running</h1>
<p>It reviews pull requests in the repositories in which its GitHub App is installed: open a pull request, or write
<code>/review</code> in one.</p>
<h2>Pages for people</h2>
<p>This server also has pages that show what was reviewed, what came of it, and what it cost. Nobody can log in to them yet, because
the client secret of the App is missing here. To add it:</p>
<ol>
<li>Open the settings of the App: <a href="${escapeHtml(webUrl)}/settings/apps">${escapeHtml(webUrl)}/settings/apps</a>, or
<em>Developer settings, GitHub Apps</em> in the settings of the organisation that owns it, and there <em>Edit</em>.</li>
<li>As the first <em>Callback URL</em>, enter the address of this server, with <code>/login/callback</code> at its end, such as
<code>https://hunkwise.example.com/login/callback</code>, and save.</li>
<li>Under <em>Client secrets</em>, choose <em>Generate a new client secret</em>.</li>
<li>Set <code>GITHUB_CLIENT_ID</code> to the <em>Client ID</em> at the top of that page, and <code>GITHUB_CLIENT_SECRET</code> to the new
secret, and restart Hunkwise.</li>
</ol>`,
  );
}
