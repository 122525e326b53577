typedef int render_video_begun;
