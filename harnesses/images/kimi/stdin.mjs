// Kimi Code with its prompt from stdin. No process shows it as an argument: the kernel takes none longer than 128 KiB, and `pkill -f` finds what it says.
import { readFileSync } from "node:fs";

const prompt = readFileSync(0, "utf8");
if (prompt) process.argv.push(`--prompt=${prompt}`);
await import("./node_modules/@moonshot-ai/kimi-code/dist/main.mjs");
