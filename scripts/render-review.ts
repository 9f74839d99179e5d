/**
 * `node scripts/render-review.ts SCENE THEME OUT.html` reviews a pull request and writes a page that shows it as GitHub does, with the
 * posted texts. SCENE is a name in `render-review/scenes.ts`, THEME is light or dark. The pictures in `docs/images` are screenshots of such
 * pages. HEIGHT is 1506 for the demo, 1952 for a review, 522 for a clean one, 2392 for a second round:
 *
 *     chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1.5 \
 *       --window-size=800,HEIGHT --screenshot=page.png OUT.html && \
 *       pngquant --output docs/images/SCENE-THEME.png 128 page.png
 */
import { writeFileSync } from "node:fs";
import { renderPage } from "./render-review/page.ts";
import { scenes } from "./render-review/scenes.ts";

const [scene = "", theme, out, ...rest] = process.argv.slice(2);
const start = scenes[scene];
if (!start || (theme !== "light" && theme !== "dark") || out === undefined || rest.length > 0) {
  console.error(`Usage: node scripts/render-review.ts ${Object.keys(scenes).join("|")} light|dark OUT.html`);
  process.exit(2);
}
await using shown = await start();
writeFileSync(out, await renderPage(shown.pull, theme, shown.unfolded));
