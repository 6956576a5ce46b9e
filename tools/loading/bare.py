"""A minimal server: aiohttp around `tf.saved_model.load`."""

import asyncio
import json
import sys

import tensorflow as tf
from aiohttp import web


def main(folder):
    model = tf.saved_model.load(folder)
    answer = model.signatures["serving_default"]

    async def predict(request):
        rows = json.loads(await request.read())["instances"]
        (outputs,) = answer(tf.constant(rows, tf.float32)).values()
        return web.json_response({"predictions": outputs.numpy().tolist()})

    app = web.Application()
    app.router.add_post("/v1/models/load:predict", predict)

    async def serve():
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(f"REST at http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main(sys.argv[1])
