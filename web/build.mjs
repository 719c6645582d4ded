// src/ -> dist/viewer.html: style and script inside the page, not minified, so that what is committed can be read.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const bundle = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  write: false,
});
const script = bundle.outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = readFileSync("src/style.css", "utf8");
const page = readFileSync("src/index.html", "utf8")
  .replace("/* style.css */", () => style)
  .replace("/* main.ts */", () => script);
mkdirSync("dist", { recursive: true });
writeFileSync("dist/viewer.html", page);
