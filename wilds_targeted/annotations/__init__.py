"""Where the animal is in an iWildCam image, and where the camera stands.

- `locate`: finds the files in the layouts in which they are published;
- `table`: masks, boxes and locations of every row of ``metadata.csv``, compact and cached;
- `detections`, `build`, `cache`: how that table is read, made and kept;
- `masks`: a mask or boxes as an image;
- `countries`: the country of a camera, offline.
"""
