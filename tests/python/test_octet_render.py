"""Pictures of the Control Suite beside whatever else a program does with OpenGL and with processes. Each test runs in a
process of its own: what has drawn once stays that way."""

import os
import subprocess
import sys

import pytest

PICTURE = """
import octet
env = octet.make("dmc:cheetah_run", render_mode="rgb_array", width=64, height=48)
env.reset(seed=1)
assert env.render().std() > 10
"""

# A program's own context. It has `kept()`: is it current, and does it draw?
PROGRAM = """
import ctypes
pointer = ctypes.c_void_p

def function(address, *arguments, result=None):
    return ctypes.CFUNCTYPE(result, *arguments)(address)

def drawn(address_of):
    clear_color = function(address_of(b"glClearColor"), *[ctypes.c_float] * 4)
    clear = function(address_of(b"glClear"), ctypes.c_uint)
    read = function(address_of(b"glReadPixels"), *[ctypes.c_int] * 4, ctypes.c_uint, ctypes.c_uint, pointer)
    pixel = (ctypes.c_ubyte * 4)()
    clear_color(1, 0, 1, 1), clear(0x4000), read(0, 0, 1, 1, 0x1908, 0x1401, pixel)
    return list(pixel) == [255, 0, 255, 255]
"""

OWN_CONTEXT = {
    "egl": """
egl = ctypes.CDLL("libEGL.so.1")
for name in ["eglGetPlatformDisplay", "eglCreateContext", "eglCreatePbufferSurface", "eglGetCurrentContext",
             "eglGetCurrentSurface", "eglGetProcAddress"]:
    getattr(egl, name).restype = pointer
display = pointer(egl.eglGetPlatformDisplay(0x31DD, None, None))  # Mesa's, without a surface
config, count = pointer(), ctypes.c_int()
wanted = (ctypes.c_int * 5)(0x3033, 1, 0x3040, 8, 0x3038)  # a pbuffer, OpenGL
sides = (ctypes.c_int * 5)(0x3057, 16, 0x3056, 16, 0x3038)
assert egl.eglInitialize(display, None, None)
assert egl.eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count)) and egl.eglBindAPI(0x30A2)
context = pointer(egl.eglCreateContext(display, config, None, None))
surface = pointer(egl.eglCreatePbufferSurface(display, config, sides))
assert egl.eglMakeCurrent(display, surface, surface, context)
egl.eglBindAPI(0x30A0)  # OpenGL ES

def kept():
    return (egl.eglGetCurrentContext() == context.value and egl.eglGetCurrentSurface(0x3059) == surface.value
            and egl.eglQueryAPI() == 0x30A0 and drawn(egl.eglGetProcAddress))
""",
    "osmesa": """
mesa = ctypes.CDLL("libOSMesa.so.8")
for name in ["OSMesaCreateContextExt", "OSMesaGetCurrentContext", "OSMesaGetProcAddress"]:
    getattr(mesa, name).restype = pointer
context, buffer = pointer(mesa.OSMesaCreateContextExt(0x1908, 24, 8, 0, None)), (ctypes.c_ubyte * 1024)()
assert mesa.OSMesaMakeCurrent(context, buffer, 0x1401, 16, 16)

def kept():
    return mesa.OSMesaGetCurrentContext() == context.value and drawn(mesa.OSMesaGetProcAddress)
""",
}


def ran(text, kind):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False,
                          env={**os.environ, "MUJOCO_GL": kind})


@pytest.fixture(scope="module", params=["egl", "osmesa"])
def kind(request):
    """Of OpenGL, that this machine has."""
    said = ran(PICTURE, request.param).stderr
    if "drawing needs OpenGL" in said or "libmujoco" in said:
        pytest.skip(said.splitlines()[-1])
    assert said == ""
    return request.param


def test_a_program_keeps_its_own_opengl_context(kind):
    said = ran(PROGRAM + OWN_CONTEXT[kind] + "assert kept()" + PICTURE + "assert kept()\nenv.close()\nassert kept()", kind)
    assert said.returncode == 0, said.stderr


VECTOR = """
import gymnasium
def pictures(context):
    make = lambda: gymnasium.make("octet:octet/dmc-cheetah_run", render_mode="rgb_array", width=64, height=48)
    vector = gymnasium.vector.AsyncVectorEnv([make], context=context)
    vector.reset(seed=1), vector.step(vector.action_space.sample())
    shapes = [picture.shape for picture in vector.call("render")]
    vector.close()
    return shapes
"""


def test_processes_draw_when_they_are_not_forks_of_one_that_has_drawn(kind):
    said = ran(VECTOR + "print(pictures('fork'))" + PICTURE + """
print(pictures("spawn"))
env.close()
try:
    pictures("fork")
except octet.OctetError as error:
    print(error)
assert octet.make("dmc:cheetah_run", render_mode="rgb_array").render().any()
""", kind)
    forked, spawned, refused = said.stdout.splitlines()
    assert forked == spawned == "[(48, 64, 3)]", said.stderr
    assert "not usable in a forked process whose parent has drawn with it" in refused
    assert said.returncode == 0, said.stderr
