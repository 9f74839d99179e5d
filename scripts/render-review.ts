/**
 * `node scripts/render-review.ts OUT.html` has the demo's pull request reviewed and writes it down as a page that shows it
 * as GitHub does, with the texts that were posted. The picture of the README is this page, seen by a browser:
 *
 *     chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1.5 \
 *       --window-size=800,1506 --screenshot=page.png OUT.html && pngquant --output docs/images/review.png 128 page.png
 */
import { writeFileSync } from "node:fs";
import { startDemo } from "./demo-run.ts";
import { renderPage } from "./render-review/page.ts";

const [out, ...rest] = process.argv.slice(2);
if (out === undefined || rest.length > 0) {
  console.error("Usage: node scripts/render-review.ts OUT.html");
  process.exit(2);
}
await using demo = await startDemo();
const status = await demo.deliverOpened();
if (status !== 202) throw new Error(`The webhook was answered with ${status}:\n${demo.server.log()}`);
await demo.reviewed();
writeFileSync(out, await renderPage(demo.scenario.pull));
