// The bench's server on Express, as agents write it. Run: NODE_PATH=.../node_modules node express_app.js PORT
const express = require("express");

const things = new Map();
const app = express();
app.use(express.json());

app.post("/reset", (request, response) => {
  things.clear();
  response.json({});
});
app.post("/thing", (request, response) => {
  things.set(request.body.id, request.body);
  response.status(201).json(request.body);
});
app.get("/thing/:id", (request, response) => {
  const thing = things.get(request.params.id);
  response.status(thing ? 200 : 404).json(thing || {});
});
app.patch("/thing/:id", (request, response) => {
  const thing = Object.assign(things.get(request.params.id), request.body);
  response.json(thing);
});

app.listen(Number(process.argv[2]), "127.0.0.1");
