// A recording on Express, as agents write it. Run: NODE_PATH=.../node_modules node express_app.js RECORDING PORT
const fs = require("node:fs");
const express = require("express");

const rounds = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
let round = -1;
let next = 0;

// What the next request gets; see replay.py.
function answer(request, response) {
  if (request.path === "/reset") {
    round = (round + 1) % rounds.length;
    next = 0;
  }
  const [status, body] = rounds[round][next++] || [500, ""];
  response.status(status).type("application/json").send(body);
}

const app = express();
app.use(express.json());
app.use(answer);
app.use((error, request, response, following) => answer(request, response));
app.listen(Number(process.argv[3]), "127.0.0.1");
